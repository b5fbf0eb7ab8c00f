"""The AI SDK UI message stream v1: events as chunks, and what chunks leave on a reader's screen.

Only types of chunks that `ai` 6 and 7 both know are sent.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, assert_never

from chat.events import (
    Absorbed,
    ApprovalAsked,
    AttemptStarted,
    ExecutionUpdate,
    FileMade,
    FilesSeen,
    MetadataChanged,
    OperationUpdate,
    Prose,
    ProseDelta,
    ProseEnded,
    ProseStarted,
    QueuePosition,
    SourceCited,
    StatusNote,
    Steered,
    StepFinished,
    StepStarted,
    ToolFailed,
    ToolInputDelta,
    ToolInputInvalid,
    ToolInputReady,
    ToolInputStarted,
    ToolOutput,
    TurnAborted,
    TurnEvent,
    TurnFailed,
    TurnFinished,
    TurnStarted,
)
from durable import storable
from durable.event_log import Event, encode

END_MARK = '{"type":"finish"'
STEP_MARK = '{"type":"start-step"'
CLOSING_MARKS = ('{"type":"error"', '{"type":"abort"')
RESET_MARK = '{"type":"data-turn"'
HINT_MARKS = (',"transient":true}', ',"preliminary":true}')

Chunk = dict[str, Any]


def chunk(event: TurnEvent) -> Chunk:
    """Return an event as a chunk. `type` is the first key and marks are the last: the prefixes above rely on it."""
    match event:
        case TurnStarted(message_id, metadata):
            return {"type": "start", "messageId": message_id, "messageMetadata": metadata}
        case AttemptStarted(attempt, reset_to_step):
            return {
                "type": "data-turn",
                "id": "turn",
                "data": {"attempt": attempt, "reset_to_step": reset_to_step},
            }
        case StepStarted():
            return {"type": "start-step"}
        case StepFinished():
            return {"type": "finish-step"}
        case ProseStarted(kind, part_id):
            return {"type": f"{kind}-start", "id": part_id}
        case ProseDelta(kind, part_id, text):
            return {"type": f"{kind}-delta", "id": part_id, "delta": text}
        case ProseEnded(kind, part_id):
            return {"type": f"{kind}-end", "id": part_id}
        case ToolInputStarted(call_id, name):
            return {"type": "tool-input-start", "toolCallId": call_id, "toolName": name}
        case ToolInputDelta(call_id, text):
            return {"type": "tool-input-delta", "toolCallId": call_id, "inputTextDelta": text}
        case ToolInputReady(call_id, name, value):
            return {"type": "tool-input-available", "toolCallId": call_id, "toolName": name, "input": value}
        case ToolInputInvalid(call_id, name, value, error):
            call = {"toolCallId": call_id, "toolName": name}
            return {"type": "tool-input-error", **call, "input": value, "errorText": error}
        case ToolOutput(call_id, output, preliminary):
            mark = {"preliminary": True} if preliminary else {}
            return {"type": "tool-output-available", "toolCallId": call_id, "output": output, **mark}
        case ToolFailed(call_id, error):
            return {"type": "tool-output-error", "toolCallId": call_id, "errorText": error}
        case ApprovalAsked(call_id, review_id):
            return {"type": "tool-approval-request", "approvalId": review_id, "toolCallId": call_id}
        case Steered(message_id, text):
            return {"type": "data-steer", "id": message_id, "data": {"message_id": message_id, "text": text}}
        case FilesSeen(file_ids):
            return {"type": "data-files-seen", "id": "files-seen", "data": {"file_ids": list(file_ids)}}
        case SourceCited(source_id, url, title):
            return {"type": "source-url", "sourceId": source_id, "url": url, "title": title}
        case FileMade(url, media_type):
            return {"type": "file", "url": url, "mediaType": media_type}
        case MetadataChanged(metadata):
            return {"type": "message-metadata", "messageMetadata": metadata}
        case OperationUpdate():
            return operation_chunk(event)
        case ExecutionUpdate(execution_id, status, nodes):
            shown = [{"node_id": node_id, "status": state} for node_id, state in nodes.items()]
            update = {"id": execution_id, "status": status, "nodes": shown}
            return {"type": "data-execution", "id": execution_id, "data": update, "transient": True}
        case StatusNote(message, detail):
            return {"type": "data-status", "data": {"message": message, **detail}, "transient": True}
        case QueuePosition(position):
            data = {"attempt": 0, "queue_position": position}
            return {"type": "data-turn", "id": "turn", "data": data, "transient": True}
        case Absorbed(turn_id):
            return {"type": "data-turn", "id": "turn", "data": {"absorbed_by": turn_id}}
        case TurnFailed(error):
            return {"type": "error", "errorText": error}
        case TurnAborted(reason):
            return {"type": "abort", "reason": reason}
        case TurnFinished(reason, metadata):
            return {"type": "finish", "finishReason": reason, "messageMetadata": metadata}
        case _:
            assert_never(event)


def operation_chunk(update: OperationUpdate) -> Chunk:
    data = {
        "id": update.operation_id,
        "tool": update.tool,
        "status": update.status,
        "progress": update.progress,
        "message": update.message,
    }
    mark = {"transient": True} if update.transient else {}
    return {"type": "data-operation", "id": update.operation_id, "data": data, **mark}


@dataclass(frozen=True, slots=True)
class Framed:
    """A turn's event in the form of the event log."""

    event: TurnEvent

    def encode(self) -> str:
        return encode(chunk(self.event))

    def merge(self, later: Event) -> Framed | None:
        """Return one event for two deltas of the same part, which are merged while they wait to be sent."""
        if not isinstance(later, Framed):
            return None
        match self.event, later.event:
            case ProseDelta(kind, part_id, text), ProseDelta(kind2, part_id2, more) if (kind, part_id) == (
                kind2,
                part_id2,
            ):
                return Framed(ProseDelta(kind, part_id, text + more))
            case ToolInputDelta(call_id, text), ToolInputDelta(call_id2, more) if call_id == call_id2:
                return Framed(ToolInputDelta(call_id, text + more))
        return None


def closes(body: str) -> bool:
    """Return whether an encoded chunk says how its turn ended."""
    return is_end(body) or body.startswith(CLOSING_MARKS)


def is_end(body: str) -> bool:
    """Return whether an encoded chunk is the last one of its turn."""
    return body.startswith(END_MARK)


def is_reset(body: str) -> bool:
    return body.startswith(RESET_MARK) and not is_hint(body)


def is_step_start(body: str) -> bool:
    return body.startswith(STEP_MARK)


def is_hint(body: str) -> bool:
    return body.endswith(HINT_MARKS)


DELTA_KINDS = ("text-delta", "reasoning-delta", "tool-input-delta")
DELTA_STARTS = tuple(f'{{"type":"{kind}"' for kind in DELTA_KINDS)
DELTA_MARK = 'elta":"'  # precedes a delta's text; ids are encoded, so it cannot occur earlier


def part_of(body: str) -> str:
    """Return an encoded delta up to its text, which is equal for deltas of one part; empty for other chunks."""
    return body.partition(DELTA_MARK)[0] if body.startswith(DELTA_STARTS) else ""


def join(bodies: Sequence[str]) -> str:
    """Join encoded deltas of one part into one: their text is the last field, so it is joined as it is encoded."""
    begins = len(part_of(bodies[0])) + len(DELTA_MARK)
    return "".join((bodies[0][:begins], *(body[begins:-2] for body in bodies), '"}'))


Part = dict[str, Any]


@dataclass
class ShownParts:
    """The parts of one step, and which of them are still open."""

    parts: list[Part] = field(default_factory=list)
    open_prose: dict[str, Prose] = field(default_factory=dict)  # part id -> kind
    _prose: dict[str, Part] = field(default_factory=dict)
    _calls: dict[str, Part] = field(default_factory=dict)

    def apply(self, chunk: dict[str, Any]) -> None:
        """Apply one chunk; chunks that show nothing change nothing."""
        match chunk["type"]:
            case "text-start" | "reasoning-start":
                kind: Prose = "text" if chunk["type"] == "text-start" else "reasoning"
                part = {"kind": kind, "text": ""}
                self.parts.append(part)
                self._prose[chunk["id"]] = part
                self.open_prose[chunk["id"]] = kind
            case "text-delta" | "reasoning-delta":
                self._prose[chunk["id"]]["text"] += chunk["delta"]
            case "text-end" | "reasoning-end":
                self.open_prose.pop(chunk["id"], None)
            case "tool-input-start":
                part = {"kind": "tool", "id": chunk["toolCallId"], "name": chunk["toolName"], "arguments": ""}
                self.parts.append(part)
                self._calls[chunk["toolCallId"]] = part
            case "tool-input-delta":
                self._calls[chunk["toolCallId"]]["arguments"] += chunk["inputTextDelta"]


def cut_off(parts: Iterable[Part], why: str) -> list[Part]:
    """Return what is kept of an unfinished step: its text, and each call with the reason why it was not made."""
    kept = [part | {"cut": why} if part["kind"] == "tool" else part for part in parts]
    return [part for part in kept if part["kind"] == "tool" or part["text"]]


def text_of(parts: Iterable[Part]) -> str:
    """Return the plain text of a step."""
    return "".join(part["text"] for part in parts if part["kind"] == "text")


def tool_input(arguments: str) -> Any:
    """Return the arguments of a call as an object if they are JSON, else as the model wrote them."""
    try:
        return storable.nearest_json(storable.loads(arguments or "{}"))
    except ValueError:
        return arguments


def shown_by(bodies: Iterable[str]) -> ShownParts:
    """Return the parts that the encoded chunks of one step leave on screen."""
    shown = ShownParts()
    for body in bodies:
        shown.apply(json.loads(body))
    return shown


@dataclass
class FoldedCall:
    """A tool call; `output` is None until it has ended, `error` is empty unless it failed."""

    call_id: str
    name: str
    input: Any = None
    output: Any = None
    error: str = ""
    ended: bool = False


@dataclass
class FoldedTurn:
    """A whole turn after its chunks, whether they came live, replayed or both."""

    steps: list[ShownParts] = field(default_factory=list)
    calls: dict[str, FoldedCall] = field(default_factory=dict)
    error: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    sources: list[dict[str, Any]] = field(default_factory=list)

    def apply(self, chunk: dict[str, Any]) -> None:
        """Apply one chunk; a new attempt removes the steps it makes void."""
        match chunk["type"]:
            case "start" | "finish" | "message-metadata":
                self.metadata |= chunk.get("messageMetadata") or {}
            case "data-turn" if "reset_to_step" in chunk["data"]:
                del self.steps[chunk["data"]["reset_to_step"] :]
            case "start-step":
                self.steps.append(ShownParts())
            case "tool-input-available":
                call = FoldedCall(chunk["toolCallId"], chunk["toolName"], chunk["input"])
                self.calls[call.call_id] = call
            case "tool-input-error":
                call = FoldedCall(chunk["toolCallId"], chunk["toolName"], chunk["input"])
                self.calls[call.call_id] = call
                self._end(call.call_id, error=chunk["errorText"])
            case "source-url":
                self.sources.append(chunk)
            case "tool-output-available" if not chunk.get("preliminary"):
                self._end(chunk["toolCallId"], output=chunk["output"])
            case "tool-output-error":
                self._end(chunk["toolCallId"], error=chunk["errorText"])
            case "error":
                self.error = chunk["errorText"]
            case _ if self.steps:
                self.steps[-1].apply(chunk)

    def _end(self, call_id: str, *, output: Any = None, error: str = "") -> None:
        call = self.calls.get(call_id)
        if call is not None:
            call.output, call.error, call.ended = output, error, True

    @property
    def text(self) -> str:
        """The text of the answer, a paragraph for each step with text."""
        texts = [text_of(step.parts).strip() for step in self.steps]
        return "\n\n".join(text for text in texts if text)

    @property
    def running(self) -> list[str]:
        """Names of the tools that are running."""
        return [call.name for call in self.calls.values() if not call.ended]


def fold_turn(bodies: Iterable[str]) -> FoldedTurn:
    """Return what the encoded chunks of one turn leave with a reader."""
    turn = FoldedTurn()
    for body in bodies:
        turn.apply(json.loads(body))
    return turn
