"""The timeline of one turn: attempts, steps, tool calls, operations, charges and what operators did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.contrib.admin.models import LogEntry
from django.db.models import Count, Max
from django.urls import reverse
from django.utils import timezone

from accounts.models import LedgerEntry
from chat.models import Turn
from copilot_project.ops.console.formatting import money, span
from durable.models import Cause, EventPage
from tools.models import Operation, ToolCall

SHOWN_ERROR_CHARACTERS = 500
End = Turn.EndReason
VERDICTS = {  # what each end reason means, and what an operator can do about it
    End.DONE: ("It was answered.", ""),
    End.LENGTH: ("It was answered, up to the length that the model may write.", ""),
    End.STEERED: ("Its message became part of the turn that was running.", ""),
    End.CANCELLED: ("It was stopped.", ""),
    End.BUDGET: ("The budget was used up.", "Raise the person's budget, then requeue."),
    End.TOO_MANY_STEPS: (
        "The model kept calling tools until the limit on steps.",
        "See below which tools it called.",
    ),
    End.MODEL_ERROR: (
        "The model did not answer.",
        "When it works again, requeue: the input is sent again as a new turn.",
    ),
    End.MODEL_REFUSED: (
        "The provider refused the request.",
        "Check key, quota and model name, then requeue.",
    ),
    End.WORKER_LOST: (
        "Its workers died one after the other.",
        "Something in it may kill them: read the logs of the workers before you requeue.",
    ),
    End.TIMED_OUT: ("It took longer than a turn is allowed to.", "See below what it waited for."),
    End.IDLE: ("The model stopped responding.", "When it works again, requeue."),
    End.INTERNAL_ERROR: ("An internal error occurred.", "The traceback is in the log of the worker."),
    End.OPERATOR: ("An operator ended it.", "Requeue sends its input again."),
}


END_REASONS = {  # in a few words
    End.DONE: "answered",
    End.LENGTH: "answered up to the model's length",
    End.STEERED: "joined the turn that was running",
    End.CANCELLED: "stopped",
    End.BUDGET: "the budget was used up",
    End.TOO_MANY_STEPS: "too many steps",
    End.MODEL_ERROR: "the model did not answer",
    End.MODEL_REFUSED: "the provider refused",
    End.WORKER_LOST: "its workers died",
    End.TIMED_OUT: "it took too long",
    End.IDLE: "the model stopped responding",
    End.INTERNAL_ERROR: "internal error",
    End.OPERATOR: "ended by an operator",
}
FINISHES = {
    "stop": "the answer was complete",
    "tool_calls": "it called tools",
    "length": "it reached the output limit",
    "content_filter": "the provider's filter stopped it",
}
FAILURES = {  # of a request to the model, by llm.retry.Kind
    "rate_limited": "was rate limited",
    "unavailable": "was unavailable",
    "cut": "broke off",
    "idle": "stopped responding",
    "nonsense": "sent an invalid response",
    "final": "refused the request",
}
CAUSES = {
    Cause.QUEUED: "started",
    Cause.DUE: "resumed when it was due",
    Cause.HANDED_OVER: "resumed what another worker had handed over",
    Cause.WORKER_LOST: "took over",
}


@dataclass(frozen=True, kw_only=True)
class TimelineEntry:
    """One line of the timeline."""

    at: datetime
    kind: str
    text: str
    url: str = ""
    is_bad: bool = False
    after_seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """How a turn ended, and everything that is recorded about it."""

    verdict: str
    advice: str
    tone: str  # a CSS class: well, note or trouble
    why: str  # the end reason in a few words
    waited_seconds: float
    worked_seconds: float
    entries: Sequence[TimelineEntry]


def read_timeline(turn: Turn) -> Timeline:
    verdict, advice, tone = judge(turn)
    now = timezone.now()
    started = turn.started_at or turn.ended_at or now
    return Timeline(
        verdict=verdict,
        advice=advice,
        tone=tone,
        why=END_REASONS.get(End(turn.end_reason), "") if turn.end_reason else "",
        waited_seconds=(started - turn.queued_at).total_seconds(),
        worked_seconds=((turn.ended_at or now) - started).total_seconds(),
        entries=entries_of(turn),
    )


def judge(turn: Turn) -> tuple[str, str, str]:
    """Return the verdict, the advice and the tone."""
    if turn.is_terminal:
        verdict, advice = (
            VERDICTS.get(End(turn.end_reason), ("It ended.", "")) if turn.end_reason else ("It ended.", "")
        )
        tones = {Turn.FAILED: "trouble", Turn.CANCELLED: "note"}
        return verdict, advice, tones.get(turn.status, "well")
    if turn.status == Turn.RUNNING and (turn.lease_until is None or turn.lease_until < timezone.now()):
        expired = (
            f"expired {span((timezone.now() - turn.lease_until).total_seconds())} ago"
            if turn.lease_until
            else "is gone"
        )
        advice = "A live worker takes it over within seconds. If there is none, start one, or mark it failed."
        return f"It is stuck: its lease {expired}, and no worker holds it.", advice, "trouble"
    if turn.status == Turn.RUNNING:
        return f"It is running on {turn.owner}.", "", "well"
    if turn.status == Turn.QUEUED:
        waits = span((timezone.now() - turn.queued_at).total_seconds())
        advice = "Is the queue or the user paused? Are workers alive? Does the user have other turns running?"
        return f"It has waited in the queue for {waits}.", advice, "note"
    return "It is waiting.", "", "note"


def entries_of(turn: Turn) -> list[TimelineEntry]:
    """Return everything recorded about the turn in order, with the seconds since it was queued."""
    found = sorted((entry for source in SOURCES for entry in source(turn)), key=lambda entry: entry.at)
    return [replace(entry, after_seconds=(entry.at - turn.queued_at).total_seconds()) for entry in found]


def life(turn: Turn) -> Iterator[TimelineEntry]:
    yield TimelineEntry(
        at=turn.queued_at, kind="queued", text=f"{turn.get_kind_display()} of {turn.user or 'a visitor'}."
    )
    if turn.first_word_at:
        yield TimelineEntry(at=turn.first_word_at, kind="first word", text="The answer started.")
    if turn.cancel_requested_at:
        yield TimelineEntry(at=turn.cancel_requested_at, kind="cancel", text="A stop was requested.")
    if turn.ended_at:
        why = END_REASONS.get(End(turn.end_reason), "") if turn.end_reason else ""
        text = f"{turn.status.capitalize()}{f': {why}' if why else ''}. {turn.error}".strip()
        yield TimelineEntry(at=turn.ended_at, kind="end", text=text, is_bad=turn.status == Turn.FAILED)
    elif turn.lease_until:
        over = turn.lease_until < timezone.now()
        text = f"The lease of {turn.owner or 'no worker'} {'expired' if over else 'expires unless renewed'}."
        yield TimelineEntry(at=turn.lease_until, kind="lease", text=text, is_bad=over)


def attempts(turn: Turn) -> Iterator[TimelineEntry]:
    pages = EventPage.objects.filter(job_id=turn.pk, abandoned=False).values("attempt").order_by()
    kept = {row["attempt"]: row for row in pages.annotate(pages=Count("pk"), last=Max("last_seq"))}
    before = ""
    for attempt in turn.attempts.order_by("number"):
        if attempt.cause == Cause.WORKER_LOST:
            text = f"The lease of {before or 'its worker'} had expired: it died or lost the database."
            yield TimelineEntry(at=attempt.started_at, kind="lease", text=text, is_bad=True)
        stored = kept.get(attempt.number)
        events = f" {stored['last']} events, stored in {stored['pages']} pages." if stored else ""
        step = f"at step {attempt.first_step}" if attempt.first_step else "from the start"
        text = f"Attempt {attempt.number}: {attempt.owner} {CAUSES[Cause(attempt.cause)]}, {step}.{events}"
        kind = "takeover" if attempt.number > 1 else "attempt"
        yield TimelineEntry(at=attempt.started_at, kind=kind, text=text)
        before = attempt.owner


def steps(turn: Turn) -> Iterator[TimelineEntry]:
    for step in turn.steps.defer("carry"):
        finish = FINISHES.get(step.finish_reason, step.finish_reason)
        end = (f" Then {finish}." if finish else "") if step.whole else " It was interrupted."
        text = (
            f"Step {step.number} by {step.model_name or 'the model'}: {step.input_tokens:,} tokens in, "
            f"{step.output_tokens:,} out, {money(step.cost)}.{end}"
        )
        url = reverse("admin:chat_step_change", args=[step.pk])
        yield TimelineEntry(at=step.created_at, kind="model", text=text, url=url, is_bad=not step.whole)


def model_failures(turn: Turn) -> Iterator[TimelineEntry]:
    for row in turn.model_failures:
        said = f": {row['detail']}" if row["detail"] else ""
        text = f"{row['model']} {FAILURES.get(row['kind'], 'failed')} in step {row['step']}{said}"
        yield TimelineEntry(at=datetime.fromisoformat(row["at"]), kind="model", text=text, is_bad=True)


def tool_calls(turn: Turn) -> Iterator[TimelineEntry]:
    for call in ToolCall.objects.filter(turn_id=turn.pk):
        name = f"{call.name} (step {call.step}, attempt {call.attempt})"
        url = reverse("admin:tools_toolcall_change", args=[call.pk])
        if call.started_at:
            yield TimelineEntry(
                at=call.started_at, kind="tool", text=f"{name} started.", url="" if call.ended_at else url
            )
        if call.ended_at:
            took = (
                f" after {span((call.ended_at - call.started_at).total_seconds())}" if call.started_at else ""
            )
            text = f"{name}: {call.state}{took}. {call.error[:SHOWN_ERROR_CHARACTERS]}"
            yield TimelineEntry(at=call.ended_at, kind="tool", text=text, url=url, is_bad=bool(call.error))


def operations(turn: Turn) -> Iterator[TimelineEntry]:
    for operation in Operation.objects.filter(turn_id=turn.pk):
        url = reverse("admin:tools_operation_change", args=[operation.pk])
        text = f"{operation.tool_name} was queued as an operation."
        yield TimelineEntry(at=operation.queued_at, kind="operation", text=text, url=url)
        if operation.ended_at:
            text = f"{operation.tool_name}: {operation.status}. {operation.error[:SHOWN_ERROR_CHARACTERS]}"
            bad = operation.status == Operation.FAILED
            yield TimelineEntry(at=operation.ended_at, kind="operation", text=text, url=url, is_bad=bad)


def charges(turn: Turn) -> Iterator[TimelineEntry]:
    for entry in LedgerEntry.objects.filter(job_id=turn.pk):
        what = f"the {entry.get_kind_display().lower()} {entry.description}".strip()
        text = f"{money(entry.amount)} for {what}."
        yield TimelineEntry(at=entry.created_at, kind="charge", text=text)


def operators(turn: Turn) -> Iterator[TimelineEntry]:
    """Yield what operators did in the admin."""
    found = LogEntry.objects.filter(object_id=str(turn.pk), content_type__model="turn").select_related("user")
    for entry in found:
        text = f"{entry.user}: {entry.get_change_message()}"
        yield TimelineEntry(at=entry.action_time, kind="operator", text=text)


SOURCES = (life, attempts, steps, model_failures, tool_calls, operations, charges, operators)
