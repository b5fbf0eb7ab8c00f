"""A turn as its rows say it: the parts of its answer, and the fewest chunks that show them."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from chat import closing, long_work
from chat.events import (
    ApprovalAsked,
    ProseEnded,
    ProseStarted,
    Steered,
    StepFinished,
    StepStarted,
    ToolFailed,
    ToolInputReady,
    ToolOutput,
    TurnEvent,
    prose_deltas,
)
from chat.fold import tool_input
from chat.models import Message, Step, Turn
from chat.protocol import Framed
from durable import log
from durable.events import Position
from executions.models import Review
from tools.models import Operation, ToolCall, calls_of
from tools.reviews import review_asked

FREE_READS = 3


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """A turn up to its last commit."""

    at: Position
    chunks: list[str]
    ended: bool


def snapshot(turn_id: uuid.UUID) -> Snapshot:
    """The chunks that show everything committed; `at` is where the log goes on.

    Read without a lock: when a commit came between, it is read again, and at last with the commits held up.
    """
    for _ in range(FREE_READS):
        before = commit_of(turn_id)
        found = read_snapshot(turn_id)
        if commit_of(turn_id) == before:
            return found
    with transaction.atomic():
        Turn.objects.select_for_update(no_key=True).get(pk=turn_id)
        return read_snapshot(turn_id)


def commit_of(turn_id: uuid.UUID) -> tuple[str, int, int]:
    """What every commit of a turn changes."""
    return Turn.objects.values_list("status", "attempt", "commits").get(pk=turn_id)


def read_snapshot(turn_id: uuid.UUID) -> Snapshot:
    turn = Turn.objects.select_related("absorbed_by").get(pk=turn_id)
    at = log.last_stored(turn_id)
    started = turn.messages.filter(pk=turn.answer_id).exists()
    events = committed_events(turn) if started or turn.is_terminal else []
    return Snapshot(at=at, chunks=[Framed(event).encode() for event in events], ended=turn.is_terminal)


def committed_events(turn: Turn) -> list[TurnEvent]:
    """Exactly what the log had said up to the same commit, each part in as few pieces as may be."""
    events = closing.opening_events(turn)
    steps = list(turn.steps.defer("carry"))
    calls = by_id(turn)
    steers = steers_of(turn)
    for step in steps:
        events += step_events(step, calls, steers.pop(step.number, []))
        if turn.is_terminal or step is not steps[-1]:
            events.append(StepFinished())
    if turn.is_terminal:
        events += closing.closing_events(turn, open_prose={}, in_step=False)
    return events


def by_id(turn: Turn) -> dict[tuple[int, str], ToolCall]:
    return {(call.step, call.call_id): call for call in calls_of(turn.pk)}


def steers_of(turn: Turn) -> dict[int, list[Message]]:
    found: dict[int, list[Message]] = {}
    for message in turn.messages.filter(role=Message.Role.USER).exclude(steered_step=None).order_by("seq"):
        found.setdefault(message.steered_step or 0, []).append(message)
    return found


def step_events(step: Step, calls: dict[tuple[int, str], ToolCall], steers: list[Message]) -> list[TurnEvent]:
    events: list[TurnEvent] = [StepStarted()]
    events += [Steered(str(message.pk), message.text) for message in steers]
    for place, part in enumerate(step.parts):
        match part["kind"]:
            case "text" | "reasoning" as kind:
                part_id = f"s{step.number}-p{place}"
                events += [
                    ProseStarted(kind, part_id),
                    *prose_deltas(kind, part_id, part["text"]),
                    ProseEnded(kind, part_id),
                ]
            case "tool":
                events += call_events(part, calls.get((step.number, part["id"])))
    return events


def call_events(part: dict[str, Any], call: ToolCall | None) -> list[TurnEvent]:
    if "cut" in part:
        return closing.cut_call(part)
    events: list[TurnEvent] = [ToolInputReady(part["id"], part["name"], tool_input(part["arguments"]))]
    if call is not None and call.is_finished:
        events += result_events(call.call_id, call.result, call.error)
    return events


def result_events(call_id: str, result: Any, error: str) -> list[TurnEvent]:
    """How the end of a call is told: an answer for the model to read is shown, whatever it says."""
    if error:
        return [ToolFailed(call_id, error)]
    review_id = review_asked(result)
    asked = [ApprovalAsked(call_id, review_id)] if review_id else []
    return [ToolOutput(call_id, result), *asked]


# --- messages as clients fetch them ---------------------------------------------------------------


def answer_parts(
    turn: Turn,
    steps: list[Step],
    calls: dict[tuple[int, str], ToolCall],
    steers: dict[int, list[Message]],
    cause: Operation | None,
    decisions: Mapping[str, Decision],
) -> list[dict[str, Any]]:
    """The parts of a turn's assistant message in the AI SDK's form: what a reader of its stream ends with."""
    parts = long_work.opening_parts(cause)
    for step in steps:
        parts.append({"type": "step-start"})
        parts += [steer_part(message) for message in steers.get(step.number, [])]
        for part in step.parts:
            parts.append(ui_part(part, calls.get((step.number, part.get("id", ""))), decisions))
    if turn.files_seen and turn.is_terminal:
        parts.append({"type": "data-files-seen", "id": "files-seen", "data": {"file_ids": turn.files_seen}})
    return parts


def steer_part(message: Message) -> dict[str, Any]:
    data = {"message_id": str(message.pk), "text": message.text}
    return {"type": "data-steer", "id": str(message.pk), "data": data}


def ui_part(part: dict[str, Any], call: ToolCall | None, decisions: Mapping[str, Decision]) -> dict[str, Any]:
    if part["kind"] != "tool":
        return {"type": part["kind"], "text": part["text"], "state": "done"}
    shown = {
        "type": f"tool-{part['name']}",
        "toolCallId": part["id"],
        "state": "input-available",
        "input": tool_input(part["arguments"]),
    }
    if "cut" in part:
        return shown | {"state": "output-error", "errorText": part["cut"]}
    if call is None or not call.is_finished:
        return shown
    if call.error:
        return shown | {"state": "output-error", "errorText": call.error}
    return shown | {"state": "output-available", "output": call.result} | approval(call.result, decisions)


def approval(result: Any, decisions: Mapping[str, Decision]) -> dict[str, Any]:
    """What an AI SDK client knows of the review a call asked for; nothing where it asked for none."""
    review_id = review_asked(result)
    if review_id is None:
        return {}
    decision = decisions.get(review_id)
    if decision is None:
        return {"state": "approval-requested", "approval": {"id": review_id}}
    said = {"id": review_id, "approved": decision.approved}
    return {
        "state": "approval-responded",
        "approval": said | ({"reason": decision.reason} if decision.reason else {}),
    }


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What became of a review; one that nobody decided in time was not approved."""

    approved: bool
    reason: str


def decisions_on(calls: Iterable[ToolCall]) -> dict[str, Decision]:
    """The decisions on what these calls asked, by review; what still waits is not in it."""
    asked = [review_id for call in calls if (review_id := review_asked(call.result))]
    if not asked:
        return {}
    decided = Review.objects.filter(pk__in=asked).exclude(state=Review.State.WAITING)
    return {
        str(review.pk): Decision(approved=review.state == Review.State.APPROVED, reason=review.message)
        for review in decided.only("state", "message")
    }
