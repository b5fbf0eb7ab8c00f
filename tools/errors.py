"""What can come of a tool call besides its result, and what is wrong with a tool's definition.

ToolOutcome              raised inside a tool or a gate; the model hears it as a typed result
├── ModelRetry           the call was wrong: fix it and try again
├── ToolError            the call failed for good: adapt
│   ├── NotPermitted     this session may not use the tool
│   ├── TimedOut         the tool's time cap passed
│   ├── Cancelled        somebody stopped the call
│   └── Interrupted      the worker died in the middle
├── NoResults            nothing was found
├── ApprovalNeeded       a person must approve the call first
├── AcceptedElsewhere    an outside service does the work and will answer later
└── NeedLogin            the tool works only for people with an account

BadTool                  a tool's definition cannot be used
├── DuplicateTool        two tools have one name
└── SchemasTooLarge      the tools' schemas leave too little room in the model's window
BadPermissions           a permissions value cannot be understood
UnknownOperation         an answer came for an operation that does not exist
"""

from __future__ import annotations

from typing import Any, ClassVar

from durable import limits, storable


class ToolOutcome(Exception):
    """The tool gave no result."""

    type: ClassVar[str] = "error"
    code: ClassVar[str] = "failed"

    def __init__(self, message: str = "", **details: Any) -> None:
        self.message = storable.text(message) or " ".join((type(self).__doc__ or "").split())
        self.details = details
        super().__init__(self.message)

    def reply(self) -> dict[str, Any]:
        """What the model is told."""
        error = {"error": self.code} if self.type == "error" else {}
        return {"type": self.type, "message": self.message, **error, **self.details}


class ModelRetry(ToolOutcome):
    """The call was not right. Fix it and try again."""

    code = "try_again"


class ToolError(ToolOutcome):
    """The tool could not do it."""

    def __init__(self, message: str = "", *, code: str = "", **details: Any) -> None:
        super().__init__(message, **details)
        self._code = code or self.code

    def reply(self) -> dict[str, Any]:
        return super().reply() | {"error": self._code}


class NotPermitted(ToolError):
    """This session is not permitted to use this tool. Tell the user, and go on without it."""

    code = "not_permitted"


class TimedOut(ToolError):
    """The tool took too long and was stopped."""

    code = "timed_out"


class Cancelled(ToolError):
    """The call was stopped on request."""

    code = "cancelled"


class Interrupted(ToolError):
    """The call was interrupted and its outcome is unknown. It was not repeated. Check before you try again."""

    code = "interrupted"

    def __init__(self, message: str = "", *, may_have_happened: bool = True) -> None:
        super().__init__(message, may_have_happened=may_have_happened)


class NoResults(ToolOutcome):
    """Nothing was found."""

    type = "no_results"

    def __init__(self, message: str = "", suggestions: list[str] | None = None) -> None:
        super().__init__(message, suggestions=suggestions or [])


class ApprovalNeeded(ToolOutcome):
    """A person must approve this call before it runs."""

    type = "review_required"


class AcceptedElsewhere(ToolOutcome):
    """An outside service has accepted the work. Its answer comes later."""

    type = "operation_accepted"

    def __init__(self, message: str = "", *, wait_seconds: float = limits.MAX_OUTSIDE_ANSWER_SECONDS) -> None:
        super().__init__(message)
        self.wait_seconds = wait_seconds


class NeedLogin(ToolOutcome):
    """This needs an account. Ask the user to log in, then try again."""

    type = "need_login"


class BadTool(Exception):
    """A tool's definition cannot be used."""


class DuplicateTool(BadTool):
    """Two tools have the same name."""


class SchemasTooLarge(BadTool):
    """The schemas of all tools together are too large."""


class BadPermissions(ValueError):
    """The permissions cannot be understood."""


class UnknownOperation(LookupError):
    """There is no such operation."""

    def __init__(self) -> None:
        super().__init__(self.__doc__)
