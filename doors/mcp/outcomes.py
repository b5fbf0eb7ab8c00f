"""What a call of a tool comes to: an answer, questions to the person first, or work that goes on by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chat.models import Turn
from doors.mcp import limits
from durable.event_log import encode
from executions.models import Execution

CUT = "\n[cut: the result is longer. Read it whole as a resource.]"


@dataclass(frozen=True, kw_only=True)
class ToolAnswer:
    """A result: content for the model, and the same as data for programs."""

    content: Sequence[Mapping[str, Any]]
    structured: Any = None
    is_error: bool = False

    def as_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"content": list(self.content), "isError": self.is_error}
        return found if self.structured is None else found | {"structuredContent": self.structured}


@dataclass(frozen=True, kw_only=True)
class NeededInput:
    """Questions to the person; the call is repeated with the answers and the state."""

    requests: Mapping[str, Mapping[str, Any]]
    state: str = ""

    def as_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"inputRequests": self.requests} if self.requests else {}
        return found | ({"requestState": self.state} if self.state else {})


@dataclass(frozen=True, kw_only=True)
class StartedWork:
    """A row that is committed: a turn or an execution. Its end is the result of the call."""

    row: Turn | Execution
    is_new: bool = field(default=False)


CallEnd = ToolAnswer | NeededInput | StartedWork


def text_answer(text: str, *, structured: Any = None, is_error: bool = False) -> ToolAnswer:
    """Return an answer of one text."""
    return ToolAnswer(content=[{"type": "text", "text": cut(text)}], structured=structured, is_error=is_error)


def data_answer(data: Mapping[str, Any], *, is_error: bool = False) -> ToolAnswer:
    """Return an answer of data, which clients without structured content read as text."""
    return text_answer(encode(data), structured=data, is_error=is_error)


def cut(text: str) -> str:
    return text if len(text) <= limits.MAX_RESULT_CHARACTERS else text[: limits.MAX_RESULT_CHARACTERS] + CUT
