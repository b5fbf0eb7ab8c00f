"""The events of a turn, as one closed union."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from chat import limits

Prose: TypeAlias = Literal["text", "reasoning"]
FinishReason: TypeAlias = Literal["stop", "length", "content-filter", "error", "other"]


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """The turn started; once per turn."""

    message_id: str
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class AttemptStarted:
    """A new attempt started, or a step is requested again: discard what was shown of this and later steps."""

    attempt: int
    reset_to_step: int


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A step starts with a request to the model."""


@dataclass(frozen=True, slots=True)
class StepFinished:
    """A step and its tools have ended."""


@dataclass(frozen=True, slots=True)
class ProseStarted:
    """A part of text or reasoning starts."""

    kind: Prose
    part_id: str


@dataclass(frozen=True, slots=True)
class ProseDelta:
    """More of an open part."""

    kind: Prose
    part_id: str
    text: str


def prose_deltas(kind: Prose, part_id: str, text: str) -> Iterator[ProseDelta]:
    """Return a text of any length as deltas that are small enough to be sent."""
    most = limits.MAX_DELTA_CHARACTERS
    return (ProseDelta(kind, part_id, text[begin : begin + most]) for begin in range(0, len(text), most))


@dataclass(frozen=True, slots=True)
class ProseEnded:
    """A part is complete."""

    kind: Prose
    part_id: str


@dataclass(frozen=True, slots=True)
class ToolInputStarted:
    """The model starts to write a tool call."""

    call_id: str
    name: str


@dataclass(frozen=True, slots=True)
class ToolInputDelta:
    """More of a tool call's arguments."""

    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolInputReady:
    """The tool call is complete."""

    call_id: str
    name: str
    input: Any


@dataclass(frozen=True, slots=True)
class ToolInputInvalid:
    """The tool call is complete, but its arguments cannot be read, so it was not made. It gets no other result."""

    call_id: str
    name: str
    input: Any
    error: str


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """The result of a tool; a preliminary one shows progress and is replaced."""

    call_id: str
    output: Any
    preliminary: bool = False


@dataclass(frozen=True, slots=True)
class ToolFailed:
    """A tool ended without a result."""

    call_id: str
    error: str


@dataclass(frozen=True, slots=True)
class ApprovalAsked:
    """A person must decide a review before the call can continue."""

    call_id: str
    review_id: str


@dataclass(frozen=True, slots=True)
class Steered:
    """A steering message was given to the model here."""

    message_id: str
    text: str


@dataclass(frozen=True, slots=True)
class FilesSeen:
    """The workspace images the model was shown."""

    file_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SourceCited:
    """A page on the web that tools of the turn read or found."""

    source_id: str
    url: str
    title: str


@dataclass(frozen=True, slots=True)
class FileMade:
    """A workspace file that tools of the turn made; the fragment of its URL is its name."""

    url: str
    media_type: str


@dataclass(frozen=True, slots=True)
class MetadataChanged:
    """What is known of the answer so far; merged into its metadata."""

    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationUpdate:
    """State of an operation. A transient one is progress; the other opens the continuation turn."""

    operation_id: str
    tool: str
    status: str
    progress: float
    message: str
    transient: bool


@dataclass(frozen=True, slots=True)
class ExecutionUpdate:
    """State of an execution that a tool waits for, by node. Transient."""

    execution_id: str
    status: str
    nodes: dict[str, str]


@dataclass(frozen=True, slots=True)
class StatusNote:
    """The current activity. Transient."""

    message: str
    detail: dict[str, Any]


@dataclass(frozen=True, slots=True)
class QueuePosition:
    """The turn is queued, at this position of its owner's queue; 1 is the next. Transient."""

    position: int


@dataclass(frozen=True, slots=True)
class Absorbed:
    """This steering message was absorbed by another turn."""

    turn_id: str


@dataclass(frozen=True, slots=True)
class TurnFailed:
    """The turn ended with an error; a sentence for the person."""

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
    | ToolInputInvalid
    | ToolOutput
    | ToolFailed
    | ApprovalAsked
    | Steered
    | FilesSeen
    | SourceCited
    | FileMade
    | MetadataChanged
    | OperationUpdate
    | ExecutionUpdate
    | StatusNote
    | QueuePosition
    | Absorbed
    | TurnFailed
    | TurnAborted
    | TurnFinished
)
