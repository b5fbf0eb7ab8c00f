"""How a turn's log opens and closes, so that every reader sees one `start`, closed parts and one `finish`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db.models import QuerySet

from chat import fold, long_work
from chat.events import (
    Absorbed,
    AttemptStarted,
    FilesSeen,
    FinishReason,
    Prose,
    ProseEnded,
    StepFinished,
    ToolFailed,
    ToolInputReady,
    TurnAborted,
    TurnEvent,
    TurnFailed,
    TurnFinished,
    TurnStarted,
)
from chat.protocol import Framed, is_hint
from durable import log, storable
from durable.events import START, Entry, Position
from durable.lease import Lease
from tools.models import ToolCall, calls_of

if TYPE_CHECKING:
    from chat.models import Turn

SENTENCES = {
    "budget": "The budget is used up, so the answer stops here. It can go on when the budget allows it.",
    "too_many_steps": "The answer took too many steps and was stopped. Ask for a smaller piece of it.",
    "model_error": "The model could not answer. Try again in a moment.",
    "model_refused": "The model declined to answer this.",
    "worker_lost": "The answer was tried several times and its worker died each time. Try again, or ask differently.",
    "timed_out": "The answer took longer than an hour and was stopped.",
    "idle": "Nothing happened for too long, so the answer was stopped. Try again.",
    "operator": "An operator ended this answer. Try again.",
    "internal_error": "Something went wrong on our side. It has been written down; try again.",
}


def rate_limited_until(moment: datetime) -> str:
    """What a person is told when the model wants a longer pause than an answer may take."""
    return (
        f"The model is rate limited until {moment:%Y-%m-%d %H:%M} UTC, which is longer than an answer may take. "
        "Ask again then, or choose another model."
    )


def open_attempt(turn: Turn, lease: Lease) -> None:
    """Write down the attempt and its first event. Inside the claim's transaction."""
    first_step = turn.steps.count() if turn.attempt > 1 else 0
    turn.attempts.create(number=turn.attempt, owner=turn.owner, first_step=first_step, cause=lease.cause)
    if lease.after == START:
        place_messages(turn)
        events = opening_events(turn)
        if (
            turn.attempt > 1
        ):  # the database was put back to before its first attempt, which readers may have seen
            events.append(AttemptStarted(turn.attempt, 0))
    else:
        events = [AttemptStarted(turn.attempt, first_step)]
    log.store(turn.pk, lease.emitter.open([Framed(event) for event in events]))


def opening_events(turn: Turn) -> list[TurnEvent]:
    """What every view of a turn begins with. An input that became part of another turn is answered by that one."""
    answer = turn if turn.absorbed_by is None else turn.absorbed_by
    return [TurnStarted(str(answer.answer_id), metadata(turn)), *long_work.opening_news(turn)]


def place_messages(turn: Turn) -> None:
    """Give the input and the answer their places in the conversation. Once: when the turn starts."""
    inputs = turn.messages.filter(role="user", seq=None).order_by("created_at").values_list("pk", flat=True)
    given = list(inputs)
    place = turn.session.take_places(len(given) + 1)
    for number, message_id in enumerate(given):
        turn.messages.filter(pk=message_id).update(seq=place + number)
    turn.messages.create(
        id=turn.answer_id, session_id=turn.session_id, role="assistant", seq=place + len(given)
    )


def metadata(turn: Turn) -> dict[str, Any]:
    return {
        "turn_id": str(turn.pk),
        "session_id": str(turn.session_id),
        "created_at": turn.queued_at.isoformat(),
    }


def final_metadata(turn: Turn) -> dict[str, Any]:
    """What `finish` says about the turn; read again by clients that only kept the stream."""
    usage = {
        "input_tokens": turn.input_tokens,
        "output_tokens": turn.output_tokens,
        "cost": f"{turn.cost:.6f}",
    }
    ending = {"status": turn.status, "end_reason": turn.end_reason, "usage": usage}
    return metadata(turn) | ending | {"files_seen": turn.files_seen}


def closing_events(turn: Turn, *, open_prose: dict[str, Prose], in_step: bool) -> list[TurnEvent]:
    """The events that end a turn with the status and the end reason it has on the row given."""
    events = prose_ends(open_prose)
    if in_step:
        events.append(StepFinished())
    if turn.files_seen:
        events.append(FilesSeen(tuple(turn.files_seen)))
    reason: FinishReason = "stop"
    if turn.status == turn.CANCELLED:
        events.append(TurnAborted("cancelled"))
        reason = "other"
    elif turn.status == turn.FAILED:
        events.append(TurnFailed(turn.error or SENTENCES.get(turn.end_reason, SENTENCES["internal_error"])))
        reason = "content-filter" if turn.end_reason == "model_refused" else "error"
    return [*events, TurnFinished(reason, final_metadata(turn))]


def prose_ends(open_prose: dict[str, Prose]) -> list[TurnEvent]:
    return [ProseEnded(kind, part_id) for part_id, kind in open_prose.items()]


# --- ends that no attempt could write -------------------------------------------------------------


def close_unowned(turn: Turn) -> None:
    """Keep what the last attempt had shown and close the log in its place. Inside the ending transaction."""
    after = log.last_stored(turn.pk)
    events: list[TurnEvent] = []
    if after == START:
        place_messages(turn)
        events += opening_events(turn)
    else:
        log.fence(turn.pk, turn.attempt)  # first: what its worker says from now on is in nobody's log
    rescued = [] if after == START else rescue(turn, after)
    shown = fold.shown_by(entry.body for entry in rescued)
    log.drop_open(turn.pk)
    if rescued:
        log.store(turn.pk, rescued)
        after = rescued[-1].at
    kept = storable.nearest_json(fold.cut_off(shown.parts, not_made(turn)))
    if kept:
        turn.steps.create(number=turn.steps.count(), attempt=rescued[-1].at.attempt, parts=kept, whole=False)
    events += cut_calls(kept)
    events += close_calls(turn)
    in_step = bool(turn.steps.count()) or any('"start-step"' in entry.body for entry in rescued)
    events += closing_events(turn, open_prose=shown.open_prose, in_step=in_step)
    log.store(turn.pk, entries(turn.attempt, after, events))
    turn.messages.filter(pk=turn.answer_id).update(text=answer_text(turn))


def close_calls(turn: Turn) -> list[TurnEvent]:
    """Every tool call that has no result gets one that says so. Inside the ending transaction."""
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
    """What is said of a call that the model had not asked for to the end."""
    return (
        "Cancelled before it was made."
        if turn.status == turn.CANCELLED
        else "Not made: the answer ended first."
    )


def cut_calls(parts: Iterable[fold.Part]) -> list[TurnEvent]:
    """The end of each call in a step that was cut off."""
    return [event for part in parts if "cut" in part for event in cut_call(part)]


def cut_call(part: fold.Part) -> list[TurnEvent]:
    said = fold.tool_input(part["arguments"])
    return [ToolInputReady(part["id"], part["name"], said), ToolFailed(part["id"], part["cut"])]


def close_absorbed(turn: Turn, into: Turn) -> None:
    """End an input that became part of a running turn. Inside that turn's transaction."""
    events: list[TurnEvent] = [
        TurnStarted(str(into.answer_id), metadata(turn)),
        Absorbed(str(into.pk)),
        TurnFinished("stop", final_metadata(turn)),
    ]
    log.store(turn.pk, entries(max(turn.attempt, 1), START, events))


def rescue(turn: Turn, after: Position) -> list[Entry]:
    """What open pages and the log in Redis have of the open step; only the pages when Redis is away."""
    chain: list[Entry] = []
    for entry in log.uncommitted(turn.pk, after):
        if entry.after > (chain[-1].at if chain else after):
            break  # a hole: what follows it cannot be trusted
        if not is_hint(entry.body):
            chain.append(entry)
    return chain


def entries(attempt: int, after: Position, events: Sequence[TurnEvent]) -> list[Entry]:
    """Events at the places of an attempt that no worker ran."""
    placed = []
    for number, event in enumerate(events, start=1):
        entry = Entry(Position(attempt, number), after, Framed(event).encode())
        placed.append(entry)
        after = entry.at
    return placed


def answer_text(turn: Turn) -> str:
    """The plain text of a turn's answer, for lists and search."""
    steps = turn.steps.values_list("parts", flat=True)
    return "".join(fold.text_of(parts) for parts in steps)
