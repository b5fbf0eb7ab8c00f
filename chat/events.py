"""The events of a turn: one closed union of everything a reader can be told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from durable import limits

Prose: TypeAlias = Literal["text", "reasoning"]
FinishReason: TypeAlias = Literal["stop", "length", "content-filter", "error", "other"]


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """The turn began; once per turn."""

    message_id: str
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class AttemptStarted:
    """A new attempt goes on, or a step is asked again: what was shown of this step and later ones is void."""

    attempt: int
    reset_to_step: int


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A model round begins."""


@dataclass(frozen=True, slots=True)
class StepFinished:
    """A model round and its tools are over."""


@dataclass(frozen=True, slots=True)
class ProseStarted:
    """A part of text or reasoning opens."""

    kind: Prose
    part_id: str


@dataclass(frozen=True, slots=True)
class ProseDelta:
    """More of an open part."""

    kind: Prose
    part_id: str
    text: str


def prose_deltas(kind: Prose, part_id: str, text: str) -> Iterator[ProseDelta]:
    """A text of any length as deltas that can be sent."""
    most = limits.MAX_DELTA_CHARACTERS
    return (ProseDelta(kind, part_id, text[begin : begin + most]) for begin in range(0, len(text), most))


@dataclass(frozen=True, slots=True)
class ProseEnded:
    """A part is whole."""

    kind: Prose
    part_id: str


@dataclass(frozen=True, slots=True)
class ToolInputStarted:
    """The model begins to write a tool call."""

    call_id: str
    name: str


@dataclass(frozen=True, slots=True)
class ToolInputDelta:
    """More of a tool call's arguments."""

    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolInputReady:
    """The tool call is whole."""

    call_id: str
    name: str
    input: Any


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool answered; a preliminary one shows progress and is replaced."""

    call_id: str
    output: Any
    preliminary: bool = False


@dataclass(frozen=True, slots=True)
class ToolFailed:
    """A tool ended without an answer."""

    call_id: str
    error: str


@dataclass(frozen=True, slots=True)
class ApprovalAsked:
    """A person must decide a review before what the call began goes on."""

    call_id: str
    review_id: str


@dataclass(frozen=True, slots=True)
class Steered:
    """A message sent meanwhile was put before the model here."""

    message_id: str
    text: str


@dataclass(frozen=True, slots=True)
class FilesSeen:
    """The workspace images the model was shown."""

    file_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationNews:
    """How far long work is. A passing one is told while it runs; the other opens the turn it brought about."""

    operation_id: str
    tool: str
    status: str
    progress: float
    message: str
    passing: bool


@dataclass(frozen=True, slots=True)
class ExecutionNews:
    """How far an execution is that a tool waits for, node by node. A passing note."""

    execution_id: str
    status: str
    nodes: dict[str, str]


@dataclass(frozen=True, slots=True)
class Status:
    """What is happening now; a passing note."""

    message: str
    detail: dict[str, Any]


@dataclass(frozen=True, slots=True)
class InLine:
    """The turn waits to begin, and at which place of its person's queue: 1 is the next. A passing note."""

    position: int


@dataclass(frozen=True, slots=True)
class Absorbed:
    """This input became part of another turn."""

    turn_id: str


@dataclass(frozen=True, slots=True)
class TurnFailed:
    """The turn ended with an error, in words for the person."""

    error: str


@dataclass(frozen=True, slots=True)
class TurnAborted:
    """The turn was stopped."""

    reason: str


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """The end, after the final status was committed; once per turn."""

    reason: FinishReason
    metadata: dict[str, Any]


TurnEvent: TypeAlias = (
    TurnStarted
    | AttemptStarted
    | StepStarted
    | StepFinished
    | ProseStarted
    | ProseDelta
    | ProseEnded
    | ToolInputStarted
    | ToolInputDelta
    | ToolInputReady
    | ToolOutput
    | ToolFailed
    | ApprovalAsked
    | Steered
    | FilesSeen
    | OperationNews
    | ExecutionNews
    | Status
    | InLine
    | Absorbed
    | TurnFailed
    | TurnAborted
    | TurnFinished
)
