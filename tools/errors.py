"""How a tool call can end without a result, and errors in tool definitions.

ToolOutcome              raised inside a tool or a gate; the model gets it as a typed result
├── ModelRetry           the call was wrong: correct it and try again
├── ToolError            the call failed; repeating it unchanged will not help
│   ├── NotPermitted     this session may not use the tool
│   ├── ToolTimedOut     the tool ran into its time cap
│   ├── ToolCancelled    the call was cancelled
│   └── Interrupted      the worker died during the call
├── NoResults            nothing was found
├── ApprovalNeeded       a person must approve the call first
├── AcceptedElsewhere    an outside service does the work and will answer later
├── GoesOnElsewhere      an outside service does the work and is asked how far it is
└── NeedLogin            the tool needs a user account

BadTool                  a tool's definition cannot be used
├── DuplicateTool        two tools have the same name
└── SchemasTooLarge      the tools' schemas take too much of the model's context window
BadPermissions           a permissions value is malformed
UnknownOperation         a completion names no known operation
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

from blocks.ports import ReviewQuestion
from durable import storable
from durable.errors import Refusal
from tools import limits


class ToolOutcome(Exception):
    """The tool gave no result."""

    type: ClassVar[str] = "error"
    code: ClassVar[str] = "failed"
    next_step: str = ""

    def __init__(self, message: str = "", *, next_step: str = "", **details: Any) -> None:
        """`message` is shown to people as well, `next_step` tells only the model what to do."""
        self.message = storable.text(message) or " ".join((type(self).__doc__ or "").split())
        self.next_step = storable.text(next_step) or self.next_step
        self.details = details
        super().__init__(self.message)

    def reply(self) -> dict[str, Any]:
        """Return the result that the model gets."""
        error = {"error": self.code} if self.type == "error" else {}
        advice = {"next_step": self.next_step} if self.next_step else {}
        return {"type": self.type, "message": self.message, **error, **advice, **self.details}


class ModelRetry(ToolOutcome):
    """The call was not valid."""

    code = "try_again"
    next_step = "Correct the call and try again."


class ToolError(ToolOutcome):
    """The tool failed."""

    def __init__(self, message: str = "", *, code: str = "", **details: Any) -> None:
        super().__init__(message, **details)
        self._code = code or self.code

    def reply(self) -> dict[str, Any]:
        return super().reply() | {"error": self._code}


@contextmanager
def as_tool_errors() -> Iterator[None]:
    """Turn a Refusal raised inside into a ToolError with the same text and code."""
    try:
        yield
    except Refusal as refusal:
        raise ToolError(refusal.advice, code=refusal.code) from refusal


class NotPermitted(ToolError):
    """This session may not use this tool."""

    code = "not_permitted"
    next_step = "Tell the user, and continue without it."


class ToolTimedOut(ToolError):
    """The tool ran into its time limit and was stopped."""

    code = "timed_out"


class ToolCancelled(ToolError):
    """The call was cancelled."""

    code = "cancelled"


class Interrupted(ToolError):
    """The call was interrupted, so its outcome is unknown. It was not repeated."""

    code = "interrupted"
    next_step = "Find out whether it happened, or ask the user, before you try again."

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
    """An outside service accepted the work and will answer later."""

    type = "operation_accepted"

    def __init__(self, message: str = "", *, wait_seconds: float = limits.MAX_OUTSIDE_ANSWER_SECONDS) -> None:
        super().__init__(message)
        self.wait_seconds = wait_seconds


class GoesOnElsewhere(ToolOutcome):
    """An outside service goes on with the work."""

    type = "operation_started"

    def __init__(
        self,
        message: str = "",
        *,
        handle: Mapping[str, Any],
        seconds: float,
        question: ReviewQuestion | None = None,
    ) -> None:
        """`handle` is stored, and the tool's `follow` gets it in `seconds`, or once `question` is decided."""
        super().__init__(message)
        self.handle = dict(handle)
        self.seconds = seconds
        self.question = question


class NeedLogin(ToolOutcome):
    """This needs an account. Please log in."""

    type = "need_login"
    next_step = "Ask the user to log in, then try again."


class BadTool(Exception):
    """A tool's definition cannot be used."""


class DuplicateTool(BadTool):
    """Two tools have the same name."""


class SchemasTooLarge(BadTool):
    """The schemas of all tools together are too large for the model's context window."""


class BadPermissions(ValueError):
    """The permissions are malformed."""


class UnknownOperation(LookupError):
    """There is no such operation."""

    def __init__(self) -> None:
        super().__init__(self.__doc__)
