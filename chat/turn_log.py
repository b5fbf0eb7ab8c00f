"""Events that the engine adds around the model's: a turn's opening and closing, and its operations.

Every reader sees one `start`, closed parts and one `finish`.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from chat import limits, protocol
from chat.events import (
    Absorbed,
    AttemptStarted,
    FileMade,
    FilesSeen,
    FinishReason,
    MetadataChanged,
    OperationUpdate,
    Prose,
    ProseEnded,
    SourceCited,
    StepFinished,
    ToolFailed,
    ToolInputInvalid,
    ToolInputReady,
    TurnAborted,
    TurnEvent,
    TurnFailed,
    TurnFinished,
    TurnStarted,
)
from chat.models import Attempt, Turn
from chat.protocol import Framed, chunk, is_hint
from durable import event_log, plain_sql, storable
from durable.event_log import START, LoggedEvent, Position
from durable.lifecycle import NewAttempt
from tools.arguments import why_unreadable
from tools.models import Operation, ToolCall, calls_of

SENTENCES = {
    "budget": "The budget is used up, so the answer stops here. Continue when the budget allows it.",
    "too_many_steps": "The answer took too many steps and was stopped. Ask for a smaller part of it.",
    "model_error": "The model could not answer. Try again in a moment.",
    "model_refused": "The model declined to answer this.",
    "worker_lost": "The answer was tried several times, and its worker died each time. Try again, or rephrase it.",
    "timed_out": "The answer took longer than an hour and was stopped.",
    "idle": "Nothing happened for too long, so the answer was stopped. Try again.",
    "operator": "An operator ended this answer. Try again.",
    "internal_error": "Something went wrong on our side. The error was logged; please try again.",
}


def rate_limited_until(moment: datetime) -> str:
    """Return the error for a rate limit that lasts longer than a turn may take."""
    return (
        f"The model is rate limited until {moment:%Y-%m-%d %H:%M} UTC, which is longer than an answer may take. "
        "Ask again then, or choose another model."
    )


def open_attempt(turn: Turn, attempt: NewAttempt) -> None:
    """Write the attempt's row and its first events. Inside the claim's transaction."""
    first_step = turn.steps.count() if turn.attempt > 1 else 0
    row = Attempt(
        turn=turn, number=turn.attempt, owner=turn.owner, first_step=first_step, cause=attempt.cause
    )
    plain_sql.insert([row])
    if attempt.after == START:
        number_messages(turn)
        events = opening_events(turn)
        if (
            turn.attempt > 1
        ):  # the database was restored to before its first attempt, which readers may have seen
            events.append(AttemptStarted(turn.attempt, 0))
    else:
        events = [AttemptStarted(turn.attempt, first_step)]
    attempt.open_log([Framed(event) for event in events])


def opening_events(turn: Turn) -> list[TurnEvent]:
    """Return the first events of every reader; the answer of a steering message is that of the absorbing turn."""
    answer = turn if turn.absorbed_by is None else turn.absorbed_by
    return [TurnStarted(str(answer.answer_id), metadata(turn)), *cause_events(turn)]


def number_messages(turn: Turn) -> None:
    """Assign `seq` to the input and the answer, once: when the turn starts, if not when it was accepted."""
    if is_placed(turn):
        return
    inputs = turn.messages.filter(role="user", seq=None).order_by("created_at").values_list("pk", flat=True)
    given = list(inputs)
    first = turn.session.reserve_seqs(len(given) + 1)
    for number, message_id in enumerate(given):
        turn.messages.filter(pk=message_id).update(seq=first + number)
    turn.messages.create(
        id=turn.answer_id, session_id=turn.session_id, role="assistant", seq=first + len(given)
    )


def is_placed(turn: Turn) -> bool:
    """Return whether the turn's messages have their numbers; a claim has read it together with the turn."""
    placed = getattr(turn, "placed", None)
    return turn.messages.filter(pk=turn.answer_id).exists() if placed is None else bool(placed)


def metadata(turn: Turn) -> dict[str, Any]:
    return {
        "turn_id": str(turn.pk),
        "session_id": str(turn.session_id),
        "created_at": turn.queued_at.isoformat(),
    }


def usage_so_far(turn: Turn) -> dict[str, Any]:
    """Return the metadata that changes with every step."""
    usage = {
        "input_tokens": turn.input_tokens,
        "output_tokens": turn.output_tokens,
        "cached_tokens": turn.cached_tokens,
        "cost": f"{turn.cost:.6f}",
    }
    return {"usage": usage, "model": turn.model_name}


def final_metadata(turn: Turn) -> dict[str, Any]:
    """Return the metadata of `finish`."""
    ending = {"status": turn.status, "end_reason": turn.end_reason}
    return metadata(turn) | ending | usage_so_far(turn) | {"files_seen": turn.files_seen}


def metadata_so_far(turn: Turn) -> MetadataChanged:
    """Return the event that tells readers of a running turn what its steps have used."""
    return MetadataChanged(usage_so_far(turn))


def closing_events(turn: Turn, *, open_prose: dict[str, Prose], in_step: bool) -> list[TurnEvent]:
    """Return the events that end a turn with the status and end reason of the given row."""
    events = prose_ends(open_prose)
    if in_step:
        events.append(StepFinished())
    if turn.files_seen:
        events.append(FilesSeen(tuple(turn.files_seen)))
    events += [SourceCited(source["id"], source["url"], source["title"]) for source in turn.sources]
    events += [FileMade(file["url"], file["media_type"]) for file in turn.files_made]
    reason: FinishReason = "length" if turn.end_reason == "length" else "stop"
    if turn.status == turn.CANCELLED:
        events.append(TurnAborted("cancelled"))
        reason = "other"
    elif turn.status == turn.FAILED:
        events.append(TurnFailed(turn.error or SENTENCES.get(turn.end_reason, SENTENCES["internal_error"])))
        reason = "content-filter" if turn.end_reason == "model_refused" else "error"
    return [*events, TurnFinished(reason, final_metadata(turn))]


def prose_ends(open_prose: dict[str, Prose]) -> list[TurnEvent]:
    return [ProseEnded(kind, part_id) for part_id, kind in open_prose.items()]


# --- turns that ended without a worker ------------------------------------------------------------


def close_unowned(turn: Turn) -> None:
    """Keep what the last attempt had shown and close its log. Inside the ending transaction."""
    after = event_log.last_stored(turn.pk)
    events: list[TurnEvent] = []
    if after == START:
        number_messages(turn)
        events += opening_events(turn)
    else:
        event_log.fence(turn.pk, turn.attempt)  # first: events its worker still writes are refused
    left = [] if after == START else event_log.left_open(turn.pk, after)
    rescued = rescue(left, after)
    shown = protocol.shown_by(entry.body for entry in rescued)
    event_log.drop_open(turn.pk)
    valid = {entry.at for entry in rescued}
    event_log.store_abandoned(turn.pk, [entry for entry in left if entry.at not in valid])
    if rescued:
        event_log.store(turn.pk, rescued)
        after = rescued[-1].at
    kept = storable.nearest_json(protocol.cut_off(shown.parts, not_made(turn)))
    if kept:
        turn.steps.create(number=turn.steps.count(), attempt=rescued[-1].at.attempt, parts=kept, whole=False)
    events += cut_calls(kept)
    events += close_calls(turn)
    in_step = bool(turn.steps.count()) or any('"start-step"' in entry.body for entry in rescued)
    events += closing_events(turn, open_prose=shown.open_prose, in_step=in_step)
    event_log.store(turn.pk, entries(turn.attempt, after, events))
    turn.messages.filter(pk=turn.answer_id).update(text=answer_text(turn))


def close_calls(turn: Turn) -> list[TurnEvent]:
    """Give every unfinished tool call a result that says so. Inside the ending transaction."""
    events = unanswered_calls(turn)
    if not events:
        return events
    state = ToolCall.State.CANCELLED if turn.status == turn.CANCELLED else ToolCall.State.INTERRUPTED
    text = without_result(turn)
    unanswered(turn).update(
        state=state, error=text, result={"type": "error", "message": text}, ended_at=turn.clock.now()
    )
    return events


def unanswered_calls(turn: Turn) -> list[TurnEvent]:
    text = without_result(turn)
    return [ToolFailed(call.call_id, text) for call in unanswered(turn)]


def unanswered(turn: Turn) -> QuerySet[ToolCall]:
    return calls_of(turn.pk).exclude(state__in=ToolCall.FINISHED)


def without_result(turn: Turn) -> str:
    return "Cancelled." if turn.status == turn.CANCELLED else "Interrupted; it may have happened."


def not_made(turn: Turn) -> str:
    """Return the error of a call that the model had not written completely."""
    return (
        "Cancelled before it was made."
        if turn.status == turn.CANCELLED
        else "Not made: the answer ended first."
    )


def cut_calls(parts: Iterable[protocol.Part]) -> list[TurnEvent]:
    """Return the end events of the calls in a step that was cut off."""
    return [event for part in parts if "cut" in part for event in cut_call(part)]


def cut_call(part: protocol.Part) -> list[TurnEvent]:
    arguments = protocol.tool_input(part["arguments"])
    return [ToolInputReady(part["id"], part["name"], arguments), ToolFailed(part["id"], part["cut"])]


def call_written(call_id: str, name: str, arguments: str) -> TurnEvent:
    """Return the event for a call that the model has written completely."""
    shown, error = protocol.tool_input(arguments), why_unreadable(arguments)
    return ToolInputInvalid(call_id, name, shown, error) if error else ToolInputReady(call_id, name, shown)


def close_absorbed(turn: Turn, into: Turn) -> None:
    """Write the log of a steering message that a running turn absorbed. Inside that turn's transaction."""
    events: list[TurnEvent] = [
        TurnStarted(str(into.answer_id), metadata(turn)),
        Absorbed(str(into.pk)),
        TurnFinished("stop", final_metadata(turn)),
    ]
    event_log.store(turn.pk, entries(max(turn.attempt, 1), START, events))


def rescue(left: Sequence[LoggedEvent], after: Position) -> list[LoggedEvent]:
    """Return the events of the open step, given all that were shown after the last commit."""
    chain: list[LoggedEvent] = []
    for entry in event_log.standing(left):
        if entry.after > (chain[-1].at if chain else after):
            break  # a gap: what follows cannot be trusted
        if not is_hint(entry.body):
            chain.append(entry)
    return chain


def entries(attempt: int, after: Position, events: Sequence[TurnEvent]) -> list[LoggedEvent]:
    """Return events with the positions of an attempt that no worker ran."""
    placed = []
    for number, event in enumerate(events, start=1):
        entry = LoggedEvent(Position(attempt, number), after, Framed(event).encode())
        placed.append(entry)
        after = entry.at
    return placed


def answer_text(turn: Turn) -> str:
    """Return the plain text of a turn's answer, for lists and search."""
    steps = turn.steps.values_list("parts", flat=True)
    return "".join(protocol.text_of(parts) for parts in steps)


CLIENT_ID = "operation:"  # prefix of the client_id of the continuation turn of an operation


def client_id_of(operation: Operation) -> str:
    return f"{CLIENT_ID}{operation.pk}"


def progress_event(operation: Operation, *, transient: bool) -> OperationUpdate:
    """Return the operation's state as an event; a transient one is not part of the answer."""
    message = operation.answer()["message"] if operation.is_terminal else operation.message
    return OperationUpdate(
        operation_id=str(operation.pk),
        tool=operation.tool_name,
        status=operation.status,
        progress=operation.progress,
        message=str(message)[: limits.MAX_OPERATION_MESSAGE_CHARACTERS],
        transient=transient,
    )


def causes(turns: Sequence[Turn]) -> dict[uuid.UUID, Operation]:
    """Return the operation that caused each continuation turn, by turn, with one query."""
    wanted = {
        uuid.UUID(turn.client_id.removeprefix(CLIENT_ID)): turn.pk
        for turn in turns
        if turn.kind == turn.Kind.CONTINUATION and turn.client_id and turn.client_id.startswith(CLIENT_ID)
    }
    if not wanted:
        return {}
    return {wanted[operation.pk]: operation for operation in Operation.objects.filter(pk__in=wanted)}


def cause_events(turn: Turn) -> list[OperationUpdate]:
    """Return the end of the operation that caused the turn as its first event, if one did."""
    return [progress_event(operation, transient=False) for operation in causes([turn]).values()]


def cause_parts(operation: Operation | None) -> list[dict[str, Any]]:
    """Return the same as parts of the fetched message."""
    return [] if operation is None else [chunk(progress_event(operation, transient=False))]
