"""Encoding of events as chunks of the AI SDK UI message stream v1, only of types that `ai` 6 and 7 both know."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from chat.events import (
    Absorbed,
    ApprovalAsked,
    AttemptStarted,
    ExecutionUpdate,
    FilesSeen,
    OperationUpdate,
    ProseDelta,
    ProseEnded,
    ProseStarted,
    QueuePosition,
    StatusNote,
    Steered,
    StepFinished,
    StepStarted,
    ToolFailed,
    ToolInputDelta,
    ToolInputReady,
    ToolInputStarted,
    ToolOutput,
    TurnAborted,
    TurnEvent,
    TurnFailed,
    TurnFinished,
    TurnStarted,
)
from durable.events import Event, encode

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


DELTA_TEXTS = {"text-delta": "delta", "reasoning-delta": "delta", "tool-input-delta": "inputTextDelta"}
DELTA_STARTS = tuple(f'{{"type":"{kind}"' for kind in DELTA_TEXTS)
DELTA_MARK = 'elta":"'  # precedes a delta's text; ids are encoded, so it cannot occur earlier


def part_of(body: str) -> str:
    """Return an encoded delta up to its text, which is equal for deltas of one part; empty for other chunks."""
    return body.partition(DELTA_MARK)[0] if body.startswith(DELTA_STARTS) else ""


def join(bodies: Sequence[str]) -> str:
    """Join encoded deltas of one part into one."""
    chunks = [json.loads(body) for body in bodies]
    field = DELTA_TEXTS[chunks[0]["type"]]
    return encode(chunks[0] | {field: "".join(found[field] for found in chunks)})
