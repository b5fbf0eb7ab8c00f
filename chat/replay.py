"""A turn rebuilt from its rows: the parts of its answer, and the fewest chunks that show them."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from chat import turn_log
from chat.events import (
    ApprovalAsked,
    ProseEnded,
    ProseStarted,
    Steered,
    StepFinished,
    StepStarted,
    ToolFailed,
    ToolInputInvalid,
    ToolOutput,
    TurnEvent,
    prose_deltas,
)
from chat.models import Message, Step, Turn
from chat.protocol import Framed, tool_input
from durable import event_log
from durable.event_log import START, Position
from durable.plain_sql import PreparedSelect
from executions.models import Review
from tools.approvals import review_id_in
from tools.arguments import why_unreadable
from tools.models import Operation, ToolCall, calls_of
from tools.operations.start import shown_later

FREE_READS = 3
SOME_ID = uuid.UUID(int=0)

# Compiled once, since whoever opens a turn runs them: see docs/decisions/hot-statements.md.
_turn = PreparedSelect(lambda turn_id: Turn.objects.select_related("absorbed_by").filter(pk=turn_id), SOME_ID)
_steps = PreparedSelect(
    lambda turn_id: Step.objects.filter(turn=turn_id).defer("carry").order_by("number"), SOME_ID
)
_steers = PreparedSelect(
    lambda turn_id: Message.objects.filter(
        turn=turn_id, role=Message.Role.USER, steered_step__isnull=False
    ).order_by("seq"),
    SOME_ID,
)


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """The chunks of a turn up to its last commit; `at` is the position where the log continues."""

    at: Position
    chunks: list[str]
    ended: bool


NOTHING = Snapshot(at=START, chunks=[], ended=False)  # of a turn that was just made


def snapshot(turn_id: uuid.UUID) -> Snapshot:
    """Return the chunks of everything that is committed.

    Reads without a lock, and again if there was a commit meanwhile; after FREE_READS tries with a lock.
    """
    for _ in range(FREE_READS):
        turn = read_turn(turn_id)
        found = snapshot_of(turn)
        if turn.is_terminal or commit_version(turn_id) == (turn.status, turn.attempt, turn.commits):
            return found  # an ended turn is committed to no more
    with transaction.atomic():
        return snapshot_of(Turn.objects.select_for_update(no_key=True).get(pk=turn_id))


def read_turn(turn_id: uuid.UUID) -> Turn:
    """Return the turn with the one that absorbed it; raise DoesNotExist if there is none."""
    for turn in _turn(turn_id):
        return turn  # type: ignore[no-any-return]
    raise Turn.DoesNotExist


def commit_version(turn_id: uuid.UUID) -> tuple[str, int, int]:
    """Return the columns that every commit of a turn changes."""
    return Turn.objects.values_list("status", "attempt", "commits").get(pk=turn_id)


def snapshot_of(turn: Turn) -> Snapshot:
    at = event_log.last_stored(turn.pk)
    events = committed_events(turn) if turn.attempt or turn.is_terminal else []
    return Snapshot(at=at, chunks=[Framed(event).encode() for event in events], ended=turn.is_terminal)


def committed_events(turn: Turn) -> list[TurnEvent]:
    """Return the events of the log up to the last commit, with as few deltas as possible."""
    events = turn_log.opening_events(turn)
    steps: list[Step] = _steps(turn.pk)
    calls = by_id(turn) if any(part["kind"] == "tool" for step in steps for part in step.parts) else {}
    steers = steers_of(turn)
    if steps and not turn.is_terminal:
        events.append(turn_log.metadata_so_far(turn))
    for step in steps:
        events += step_events(step, calls, steers.pop(step.number, []))
        if turn.is_terminal or step is not steps[-1]:
            events.append(StepFinished())
    if turn.is_terminal:
        events += turn_log.closing_events(turn, open_prose={}, in_step=False)
    return events


def by_id(turn: Turn) -> dict[tuple[int, str], ToolCall]:
    return {(call.step, call.call_id): call for call in calls_of(turn.pk)}


def steers_of(turn: Turn) -> dict[int, list[Message]]:
    found: dict[int, list[Message]] = {}
    for message in _steers(turn.pk):
        found.setdefault(message.steered_step or 0, []).append(message)
    return found


def step_events(step: Step, calls: dict[tuple[int, str], ToolCall], steers: list[Message]) -> list[TurnEvent]:
    events: list[TurnEvent] = [StepStarted()]
    events += [Steered(str(message.pk), message.text) for message in steers]
    for index, part in enumerate(step.parts):
        match part["kind"]:
            case "text" | "reasoning" as kind:
                part_id = f"s{step.number}-p{index}"
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
        return turn_log.cut_call(part)
    written = turn_log.call_written(part["id"], part["name"], part["arguments"])
    events = [written]
    if call is not None and call.is_finished and not isinstance(written, ToolInputInvalid):
        events += result_events(call.call_id, call.result, call.error)
    return events


def result_events(call_id: str, result: Any, error: str) -> list[TurnEvent]:
    """Return the events for the end of a call; a result the model can read is an output, even if it says error."""
    if error:
        return [ToolFailed(call_id, error)]
    review_id = review_id_in(result)
    asked = [ApprovalAsked(call_id, review_id)] if review_id else []
    return [ToolOutput(call_id, result), *asked]


# --- messages as clients fetch them ---------------------------------------------------------------


def answer_parts(
    turn: Turn,
    steps: list[Step],
    calls: dict[tuple[int, str], ToolCall],
    steers: dict[int, list[Message]],
    cause: Operation | None,
    decisions: Mapping[str, ReviewOutcome],
) -> list[dict[str, Any]]:
    """Return the parts of a turn's UIMessage, equal to what a reader of its stream ends with."""
    parts = turn_log.cause_parts(cause)
    for step in steps:
        parts.append({"type": "step-start"})
        parts += [steer_part(message) for message in steers.get(step.number, [])]
        for part in step.parts:
            parts.append(ui_part(part, calls.get((step.number, part.get("id", ""))), decisions))
    if turn.files_seen and turn.is_terminal:
        parts.append({"type": "data-files-seen", "id": "files-seen", "data": {"file_ids": turn.files_seen}})
    if turn.is_terminal:
        parts += [source_part(source) for source in turn.sources]
        parts += [file_part(file) for file in turn.files_made]
    return parts


def source_part(source: dict[str, str]) -> dict[str, Any]:
    return {"type": "source-url", "sourceId": source["id"], "url": source["url"], "title": source["title"]}


def file_part(file: dict[str, str]) -> dict[str, Any]:
    return {"type": "file", "mediaType": file["media_type"], "url": file["url"]}


def steer_part(message: Message) -> dict[str, Any]:
    data = {"message_id": str(message.pk), "text": message.text}
    return {"type": "data-steer", "id": str(message.pk), "data": data}


def ui_part(
    part: dict[str, Any], call: ToolCall | None, decisions: Mapping[str, ReviewOutcome]
) -> dict[str, Any]:
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
    if error := why_unreadable(part["arguments"]):
        return shown | {"state": "output-error", "errorText": error}
    if call is None or not call.is_finished:
        return shown
    if call.error:
        return shown | {"state": "output-error", "errorText": call.error}
    return (
        shown | {"state": "output-available", "output": shown_later(call)} | approval(call.result, decisions)
    )


def approval(result: Any, decisions: Mapping[str, ReviewOutcome]) -> dict[str, Any]:
    """Return the approval state of a call that asked for a review; nothing if it did not."""
    review_id = review_id_in(result)
    if review_id is None:
        return {}
    decision = decisions.get(review_id)
    if decision is None:
        return {"state": "approval-requested", "approval": {"id": review_id}}
    response = {"id": review_id, "approved": decision.approved}
    return {
        "state": "approval-responded",
        "approval": response | ({"reason": decision.reason} if decision.reason else {}),
    }


@dataclass(frozen=True, kw_only=True)
class ReviewOutcome:
    """A decided review; one that expired was not approved."""

    approved: bool
    reason: str


def decisions_on(calls: Iterable[ToolCall]) -> dict[str, ReviewOutcome]:
    """Return the decided reviews that these calls asked for, by id."""
    asked = [review_id for call in calls if (review_id := review_id_in(call.result))]
    if not asked:
        return {}
    decided = Review.objects.filter(pk__in=asked).exclude(state=Review.State.WAITING)
    return {
        str(review.pk): ReviewOutcome(approved=review.state == Review.State.APPROVED, reason=review.message)
        for review in decided.only("state", "message")
    }
