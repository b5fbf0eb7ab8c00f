"""The story of one turn, in order: inputs, attempts, model rounds, tool calls, operations, charges, operators."""

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
from copilot_project.console.words import money, span
from durable.models import Cause, EventPage
from tools.models import Operation, ToolCall

SHOWN_ERROR_CHARACTERS = 500
End = Turn.EndReason
VERDICTS = {  # what an end means, and what an operator can do about it
    End.DONE: ("It was answered.", ""),
    End.STEERED: ("Its message became part of the turn that was running.", ""),
    End.CANCELLED: ("It was stopped.", ""),
    End.BUDGET: ("The budget was used up.", "Raise the person's budget, then requeue."),
    End.TOO_MANY_STEPS: (
        "The model went round in circles until the cap on steps.",
        "See which tools it kept calling.",
    ),
    End.MODEL_ERROR: (
        "The model did not answer.",
        "When it works again, requeue: the input goes in once more as a new turn.",
    ),
    End.MODEL_REFUSED: (
        "The provider refused the request.",
        "Check key, quota and model name, then requeue.",
    ),
    End.WORKER_LOST: (
        "Its workers died one after the other.",
        "Something in it may kill them: read the workers' logs before you requeue.",
    ),
    End.TIMED_OUT: ("It took longer than a turn may.", "See below what it waited for."),
    End.IDLE: ("The model fell silent.", "When it works again, requeue."),
    End.INTERNAL_ERROR: ("Something here is broken.", "The worker's log has the traceback."),
    End.OPERATOR: ("An operator ended it.", "Requeue puts its input in once more."),
}


WHY = {  # the same in a few words
    End.DONE: "answered",
    End.STEERED: "joined the turn that was running",
    End.CANCELLED: "stopped",
    End.BUDGET: "the budget was used up",
    End.TOO_MANY_STEPS: "too many steps",
    End.MODEL_ERROR: "the model did not answer",
    End.MODEL_REFUSED: "the provider refused",
    End.WORKER_LOST: "its workers died",
    End.TIMED_OUT: "it took too long",
    End.IDLE: "the model fell silent",
    End.INTERNAL_ERROR: "an error of ours",
    End.OPERATOR: "ended by an operator",
}
FINISHES = {
    "stop": "it had said everything",
    "tool_calls": "it asked for tools",
    "length": "it had no room left",
    "content_filter": "the provider's filter stopped it",
}
FAILURES = {  # of a request to the model, by llm.retry.Kind
    "rate_limited": "was rate limited",
    "unavailable": "was not reachable",
    "cut": "broke off",
    "idle": "fell silent",
    "nonsense": "made no sense",
    "final": "refused the request",
}
CAUSES = {
    Cause.QUEUED: "began",
    Cause.DUE: "went on when its time had come",
    Cause.HANDED_OVER: "went on with what another worker had handed over",
    Cause.WORKER_LOST: "took over",
}


@dataclass(frozen=True, kw_only=True)
class Moment:
    """One line of the story."""

    at: datetime
    kind: str
    text: str
    url: str = ""
    is_bad: bool = False
    after_seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Story:
    """What became of a turn in a sentence, and every moment that left a row."""

    verdict: str
    advice: str
    tone: str  # well, note or trouble
    why: str  # its end in a few words
    waited_seconds: float
    worked_seconds: float
    moments: Sequence[Moment]


def story(turn: Turn) -> Story:
    verdict, advice, tone = judge(turn)
    now = timezone.now()
    began = turn.started_at or turn.ended_at or now
    return Story(
        verdict=verdict,
        advice=advice,
        tone=tone,
        why=WHY.get(End(turn.end_reason), "") if turn.end_reason else "",
        waited_seconds=(began - turn.queued_at).total_seconds(),
        worked_seconds=((turn.ended_at or now) - began).total_seconds(),
        moments=moments_of(turn),
    )


def judge(turn: Turn) -> tuple[str, str, str]:
    """Verdict, advice and tone."""
    if turn.is_terminal:
        verdict, advice = (
            VERDICTS.get(End(turn.end_reason), ("It ended.", "")) if turn.end_reason else ("It ended.", "")
        )
        tones = {Turn.FAILED: "trouble", Turn.CANCELLED: "note"}
        return verdict, advice, tones.get(turn.status, "well")
    if turn.status == Turn.RUNNING and (turn.lease_until is None or turn.lease_until < timezone.now()):
        over = f" for {span((timezone.now() - turn.lease_until).total_seconds())}" if turn.lease_until else ""
        advice = "A live worker takes it over within seconds. Without one, start one, or mark it failed."
        return f"It is stuck: its lease has been over{over}, and nobody holds it.", advice, "trouble"
    if turn.status == Turn.RUNNING:
        return f"It runs, held by {turn.owner}.", "", "well"
    if turn.status == Turn.QUEUED:
        waits = span((timezone.now() - turn.queued_at).total_seconds())
        advice = "Is the queue or the person paused, do workers live, has the person other turns running?"
        return f"It has waited in the queue for {waits}.", advice, "note"
    return "It waits.", "", "note"


def moments_of(turn: Turn) -> list[Moment]:
    """Every moment that left a row, with the seconds since the turn was asked for."""
    found = sorted((moment for source in SOURCES for moment in source(turn)), key=lambda moment: moment.at)
    return [replace(moment, after_seconds=(moment.at - turn.queued_at).total_seconds()) for moment in found]


def life(turn: Turn) -> Iterator[Moment]:
    yield Moment(
        at=turn.queued_at, kind="queued", text=f"{turn.get_kind_display()} of {turn.user or 'a visitor'}."
    )
    if turn.first_word_at:
        yield Moment(at=turn.first_word_at, kind="first word", text="The answer began to show.")
    if turn.cancel_requested_at:
        yield Moment(at=turn.cancel_requested_at, kind="cancel", text="Asked to stop.")
    if turn.ended_at:
        why = WHY.get(End(turn.end_reason), "") if turn.end_reason else ""
        text = f"{turn.status.capitalize()}{f': {why}' if why else ''}. {turn.error}".strip()
        yield Moment(at=turn.ended_at, kind="end", text=text, is_bad=turn.status == Turn.FAILED)
    elif turn.lease_until:
        over = turn.lease_until < timezone.now()
        text = f"The lease of {turn.owner or 'nobody'} {'ran out' if over else 'ends unless renewed'}."
        yield Moment(at=turn.lease_until, kind="lease", text=text, is_bad=over)


def attempts(turn: Turn) -> Iterator[Moment]:
    pages = EventPage.objects.filter(job_id=turn.pk).values("attempt").order_by()
    kept = {row["attempt"]: row for row in pages.annotate(pages=Count("pk"), last=Max("last_seq"))}
    before = ""
    for attempt in turn.attempts.order_by("number"):
        if attempt.cause == Cause.WORKER_LOST:
            text = f"The lease of {before or 'its worker'} had run out: it died or fell silent."
            yield Moment(at=attempt.started_at, kind="lease", text=text, is_bad=True)
        stored = kept.get(attempt.number)
        events = f" {stored['last']} events, kept in {stored['pages']} commits." if stored else ""
        step = f"from step {attempt.first_step} on" if attempt.first_step else "from the beginning"
        text = f"Attempt {attempt.number}: {attempt.owner} {CAUSES[Cause(attempt.cause)]}, {step}.{events}"
        kind = "takeover" if attempt.number > 1 else "attempt"
        yield Moment(at=attempt.started_at, kind=kind, text=text)
        before = attempt.owner


def steps(turn: Turn) -> Iterator[Moment]:
    for step in turn.steps.defer("carry"):
        finish = FINISHES.get(step.finish_reason, step.finish_reason)
        end = (f" Then {finish}." if finish else "") if step.whole else " It was cut off."
        text = (
            f"Step {step.number} by {step.model_name or 'the model'}: {step.input_tokens:,} tokens in, "
            f"{step.output_tokens:,} out, {money(step.cost)}.{end}"
        )
        url = reverse("admin:chat_step_change", args=[step.pk])
        yield Moment(at=step.created_at, kind="model", text=text, url=url, is_bad=not step.whole)


def model_failures(turn: Turn) -> Iterator[Moment]:
    for row in turn.model_failures:
        said = f": {row['detail']}" if row["detail"] else ""
        text = f"{row['model']} {FAILURES.get(row['kind'], 'failed')} in step {row['step']}{said}"
        yield Moment(at=datetime.fromisoformat(row["at"]), kind="model", text=text, is_bad=True)


def tool_calls(turn: Turn) -> Iterator[Moment]:
    for call in ToolCall.objects.filter(turn_id=turn.pk):
        name = f"{call.name} (step {call.step}, attempt {call.attempt})"
        url = reverse("admin:tools_toolcall_change", args=[call.pk])
        if call.started_at:
            yield Moment(
                at=call.started_at, kind="tool", text=f"{name} began.", url="" if call.ended_at else url
            )
        if call.ended_at:
            took = (
                f" after {span((call.ended_at - call.started_at).total_seconds())}" if call.started_at else ""
            )
            text = f"{name}: {call.state}{took}. {call.error[:SHOWN_ERROR_CHARACTERS]}"
            yield Moment(at=call.ended_at, kind="tool", text=text, url=url, is_bad=bool(call.error))


def operations(turn: Turn) -> Iterator[Moment]:
    for operation in Operation.objects.filter(turn_id=turn.pk):
        url = reverse("admin:tools_operation_change", args=[operation.pk])
        text = f"{operation.tool_name} was queued as long-running work."
        yield Moment(at=operation.queued_at, kind="operation", text=text, url=url)
        if operation.ended_at:
            text = f"{operation.tool_name}: {operation.status}. {operation.error[:SHOWN_ERROR_CHARACTERS]}"
            bad = operation.status == Operation.FAILED
            yield Moment(at=operation.ended_at, kind="operation", text=text, url=url, is_bad=bad)


def charges(turn: Turn) -> Iterator[Moment]:
    for entry in LedgerEntry.objects.filter(job_id=turn.pk):
        what = f"the {entry.get_kind_display().lower()} {entry.description}".strip()
        text = f"{money(entry.amount)} for {what}."
        yield Moment(at=entry.created_at, kind="charge", text=text)


def operators(turn: Turn) -> Iterator[Moment]:
    """What people did in the admin."""
    found = LogEntry.objects.filter(object_id=str(turn.pk), content_type__model="turn").select_related("user")
    for entry in found:
        text = f"{entry.user}: {entry.get_change_message()}"
        yield Moment(at=entry.action_time, kind="operator", text=text)


SOURCES = (life, attempts, steps, model_failures, tool_calls, operations, charges, operators)
