"""The story of one turn, in order: inputs, attempts, model rounds, tool calls, operations, charges, operators."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.contrib.admin.models import LogEntry
from django.db.models import Count, Max

from accounts.models import LedgerEntry
from chat.models import Turn
from durable.models import EventPage
from tools.models import Operation, ToolCall

SHOWN_ERROR_CHARACTERS = 500


@dataclass(frozen=True, kw_only=True)
class Moment:
    """One line of the story."""

    at: datetime
    kind: str
    text: str
    is_bad: bool = False
    after_seconds: float = 0.0


def story(turn: Turn) -> list[Moment]:
    """Every moment that left a row, with the seconds since the turn was asked for."""
    moments = sorted((moment for source in SOURCES for moment in source(turn)), key=lambda found: found.at)
    return [
        Moment(
            at=moment.at,
            kind=moment.kind,
            text=moment.text,
            is_bad=moment.is_bad,
            after_seconds=(moment.at - turn.queued_at).total_seconds(),
        )
        for moment in moments
    ]


def life(turn: Turn) -> Iterator[Moment]:
    yield Moment(
        at=turn.queued_at, kind="queued", text=f"{turn.get_kind_display()} of {turn.user or 'a visitor'}"
    )
    if turn.first_word_at:
        yield Moment(at=turn.first_word_at, kind="first word", text="The answer began to show.")
    if turn.cancel_requested_at:
        yield Moment(at=turn.cancel_requested_at, kind="cancel", text="Asked to stop.")
    if turn.ended_at:
        text = f"{turn.status}: {turn.end_reason}. {turn.error}"
        yield Moment(at=turn.ended_at, kind="end", text=text, is_bad=turn.status == Turn.FAILED)
    elif turn.lease_until:
        yield Moment(at=turn.lease_until, kind="lease", text=f"The lease of {turn.owner or 'nobody'} ends.")


def attempts(turn: Turn) -> Iterator[Moment]:
    pages = EventPage.objects.filter(job_id=turn.pk).values("attempt").order_by()
    kept = {row["attempt"]: row for row in pages.annotate(pages=Count("pk"), last=Max("last_seq"))}
    for attempt in turn.attempts.order_by("number"):
        stored = kept.get(attempt.number)
        events = f" {stored['last']} events in {stored['pages']} commits." if stored else ""
        again = attempt.number > 1
        text = f"Attempt {attempt.number} by {attempt.owner}, from step {attempt.first_step} on.{events}"
        yield Moment(at=attempt.started_at, kind="takeover" if again else "attempt", text=text, is_bad=again)


def steps(turn: Turn) -> Iterator[Moment]:
    for step in turn.steps.all():
        cut = "" if step.whole else " It was cut off."
        text = (
            f"Step {step.number} by {step.model_name or 'the model'}: {step.input_tokens} tokens in, "
            f"{step.output_tokens} out, ${step.cost}, ended with {step.finish_reason or 'nothing'}.{cut}"
        )
        yield Moment(at=step.created_at, kind="model", text=text, is_bad=not step.whole)


def tool_calls(turn: Turn) -> Iterator[Moment]:
    for call in ToolCall.objects.filter(turn_id=turn.pk):
        name = f"{call.name} (step {call.step}, attempt {call.attempt})"
        if call.started_at:
            yield Moment(at=call.started_at, kind="tool", text=f"{name} began.")
        if call.ended_at:
            took = (
                f" after {(call.ended_at - call.started_at).total_seconds():.2f} s" if call.started_at else ""
            )
            text = f"{name}: {call.state}{took}. {call.error[:SHOWN_ERROR_CHARACTERS]}"
            yield Moment(at=call.ended_at, kind="tool", text=text, is_bad=bool(call.error))


def operations(turn: Turn) -> Iterator[Moment]:
    for operation in Operation.objects.filter(turn_id=turn.pk):
        yield Moment(at=operation.queued_at, kind="operation", text=f"{operation.tool_name} was queued.")
        if operation.ended_at:
            text = f"{operation.tool_name}: {operation.status}. {operation.error[:SHOWN_ERROR_CHARACTERS]}"
            bad = operation.status == Operation.FAILED
            yield Moment(at=operation.ended_at, kind="operation", text=text, is_bad=bad)


def charges(turn: Turn) -> Iterator[Moment]:
    for entry in LedgerEntry.objects.filter(job_id=turn.pk):
        yield Moment(
            at=entry.created_at, kind="charge", text=f"${entry.amount} for {entry.kind} ({entry.key})"
        )


def operators(turn: Turn) -> Iterator[Moment]:
    """What people did in the admin."""
    found = LogEntry.objects.filter(object_id=str(turn.pk), content_type__model="turn").select_related("user")
    for entry in found:
        yield Moment(
            at=entry.action_time, kind="operator", text=f"{entry.user}: {entry.get_change_message()}"
        )


SOURCES = (life, attempts, steps, tool_calls, operations, charges, operators)
