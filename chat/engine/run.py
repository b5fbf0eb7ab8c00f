"""The loop of one turn: ask the model, commit the step, run its tools, until it asks for no more."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any

from django.db import transaction

import llm
from accounts.budgets import check_budget
from accounts.errors import OverBudget
from chat import attachments, limits, model_choice, notifications, outside_content, titles, turn_log
from chat.engine import compaction, history, journal
from chat.engine.journal import TurnJournal
from chat.engine.status_notes import IdleNotices, OperationWatch
from chat.engine.step_stream import StepStream
from chat.errors import NoModelForYou
from chat.events import StatusNote, Steered, StepFinished, StepStarted, TurnEvent
from chat.models import Message, Step, Turn
from chat.protocol import Framed
from chat.replay import steers_of
from chat.turn_options import TurnOptions
from durable import crashpoints, database, storable, tracing
from durable import limits as durable_limits
from durable.errors import HandOver, JobCancelled, JobTimedOut, LeaseLost
from durable.lease import Lease
from durable.stop_signal import StopReason
from llm.types import Completion, Request, ToolCallRequest, ToolSpec
from tools import toolset
from tools.arguments import why_unreadable
from tools.client_tools import client_tools
from tools.dispatch import CallScope, run_calls
from tools.models import calls_of
from tools.operations.start import CLIENT_CALL
from tools.permissions import Permissions, narrow

logger = logging.getLogger(__name__)
Reason = Turn.EndReason


def run(
    lease: Lease,
    *,
    asked: Callable[[], None] = lambda: None,
    before_end: Callable[[], object] = lambda: None,
) -> None:
    """Answer a turn, from the first step that no earlier attempt has committed.

    `asked` is called when the model is asked, the rest of the start being up to the model; `before_end` before a
    complete answer is committed.
    """
    crashpoints.reached("after_claim")
    turn = lease.job
    assert isinstance(turn, Turn)
    notifications.turn_changed(turn)
    out_of_time = lease.stop.set_after(seconds_left(turn, lease), StopReason.TIMED_OUT)
    with out_of_time, OperationWatch(turn, lease.emitter) as operations:
        answering = Answering(turn, lease, operations)
        answering.asked, answering.before_end = asked, before_end
        answering.run()


def seconds_left(turn: Turn, lease: Lease) -> float:
    """Return how much longer the turn may take."""
    now = lease.now()
    taken = now - (turn.started_at or now)
    return max(durable_limits.MAX_TURN_SECONDS - taken.total_seconds(), 0.0)


class TooManySteps(Exception):
    """The turn has taken MAX_STEPS_PER_TURN steps."""


@dataclass
class ModelStep:
    """The step that the model is answering."""

    number: int
    stream: StepStream


class Answering:
    """One attempt at one turn."""

    def __init__(self, turn: Turn, lease: Lease, operations: OperationWatch) -> None:
        self.asked: Callable[[], None] = lambda: None
        self.before_end: Callable[[], object] = lambda: None
        self.turn = turn
        self.lease = lease
        self.operations = operations
        self.permissions = narrow(
            Permissions.parse(turn.session.permissions or None), Permissions.parse(turn.permissions)
        )
        self.options = TurnOptions.of(turn)
        self.client_tools = client_tools(self.options.tools) if self.options.tools else {}
        self.has_called = False  # this attempt has called tools
        self.round: ModelStep | None = None
        self.unsaved: Completion | None = None  # an answer that is paid for and not committed yet

    @property
    def resumed(self) -> bool:
        """Whether an earlier attempt may have left something."""
        return self.lease.attempt > 1

    def run(self) -> None:
        """Answer the turn and end it, whatever happens; a lost lease or a hand-over leaves it to another worker."""
        try:
            self.answer()
        except (LeaseLost, HandOver):
            raise
        except JobCancelled:
            self.end(Turn.CANCELLED, Reason.CANCELLED)
        except JobTimedOut:
            self.end(Turn.FAILED, Reason.TIMED_OUT)
        except TooManySteps:
            self.end(Turn.FAILED, Reason.TOO_MANY_STEPS)
        except OverBudget as error:
            self.end(Turn.FAILED, Reason.BUDGET, error.message)
        except llm.RateLimited as error:
            self.wait(error)
        except llm.ModelRefused as error:
            self.end(Turn.FAILED, Reason.MODEL_REFUSED, error.user_message)
        except llm.ModelIdle as error:
            self.end(Turn.FAILED, Reason.IDLE, error.user_message)
        except llm.LLMError as error:
            logger.warning("model failed: %s", error, extra=self.turn.log_context())
            self.end(Turn.FAILED, Reason.MODEL_ERROR, error.user_message)
        except (
            Exception
        ) as error:  # the task's boundary: an unknown error is logged and ends the turn visibly
            if database.may_pass(error) and self.lease.attempt < durable_limits.MAX_ATTEMPTS:
                logger.warning("the database failed: %s", error, extra=self.turn.log_context())
                raise HandOver from error  # another attempt goes on from the last commit
            logger.exception("turn failed", extra=self.turn.log_context())
            self.end(Turn.FAILED, Reason.INTERNAL_ERROR)

    def answer(self) -> None:
        """Take steps until the model calls no tools, beginning after those of earlier attempts."""
        steps = list(self.turn.steps.defer("carry")) if self.resumed else []
        number = len(steps)
        if steps:
            last = steps[-1]
            with tracing.span("step", {"ratchet.step": last.number, "ratchet.resumed": True}):
                goes_on = self.run_tools(last.number, requested(last))
            if not goes_on:
                self.end_done(last.finish_reason)  # it was complete; only the turn's end was not committed
                return
        while self.take_step(number):
            number += 1

    def take_step(self, number: int) -> bool:
        """Ask the model and run the tools it calls; return False if it called none, which has ended the turn."""
        with tracing.span("step", {"ratchet.step": number}):
            completion = self.ask(number)
            calls = self.commit_step(completion)
            if not calls:
                return False
            crashpoints.reached("after_step_commit")
            goes_on = self.run_tools(number, calls)
            crashpoints.reached("before_next_step")
            if not goes_on:
                self.end_done(completion.finish_reason)
            return goes_on

    # --- asking the model -------------------------------------------------------------------------

    def ask(self, number: int) -> Completion:
        """Stream one model request to the readers and return the answer."""
        self.check_limits(number)
        may_be_steered = number > 0 or self.resumed or self.turn.has_steers
        steered = may_be_steered and journal.absorb_queued(self.turn, self.lease, number)
        model = self.choose_model()
        messages = self.messages(model)
        with IdleNotices(self.note_waiting, "the model") as idle:
            stream = StepStream(
                self.lease.emitter,
                number=number,
                opening=self.opening(number, steers_of(self.turn) if steered or self.resumed else {}),
                taken_ids=self.call_ids_before(number),
                idle=idle,
                failures=self.turn.model_failures,
            )
            self.round = ModelStep(number, stream)
            stream.open()
            crashpoints.reached("before_model")
            request = Request(
                model=model,
                messages=messages,
                tools=self.options.offered(self.offered_tools()),
                temperature=self.options.temperature,
                max_output_tokens=self.options.max_output_tokens,
                user=str(self.turn.user_id or ""),
                fallbacks=model_choice.fallbacks_for(self.turn.session.user),
                response_format=self.options.response_format,
                tool_choice=self.options.choice_at(number),
                parallel_tool_calls=self.options.parallel_tool_calls,
            )
            try:
                completion = self.stream(request, stream)
            except llm.ContextTooLong:  # our estimate was too low; no part of an answer has come yet
                smaller = replace(request, messages=self.messages(model, share=0.5))
                completion = self.stream(smaller, stream)
        crashpoints.reached("after_model")
        return completion

    def offered_tools(self) -> list[ToolSpec]:
        turn = self.turn
        return toolset.offered(self.permissions, user_id=turn.user_id, session_id=turn.session_id)

    def choose_model(self) -> str:
        """Return the model for this step; say so where it is not the one that was picked, which has gone."""
        try:
            model = llm.picked_model(model_choice.model_of(self.turn))
        except NoModelForYou as error:
            raise llm.BadModelRequest(str(error)) from None
        wanted = self.turn.model_name or self.turn.asked_model
        if wanted and wanted != model:
            logger.info("%s is gone, %s answers", wanted, model, extra=self.turn.log_context())
            note = StatusNote(f"{wanted} is not available any more; {model} answers.", {"model": model})
            self.lease.emitter.hint(Framed(note))
        return model

    def stream(self, request: Request, stream: StepStream) -> Completion:
        self.asked()
        try:
            return llm.stream(request, stream.receive, cancelled=self.lease.stop)
        except llm.AnswerCancelled:
            self.lease.check()
            raise

    def check_limits(self, number: int) -> None:
        """Raise if the turn may not take another step, or should take it in another worker."""
        self.lease.check()
        if self.lease.draining:
            raise HandOver
        if number >= limits.MAX_STEPS_PER_TURN:
            raise TooManySteps
        check_budget(self.turn.session.user, as_read=number == 0)

    def messages(self, model: str, *, share: float = 1.0) -> Sequence[Mapping[str, Any]]:
        """Return the conversation for this model: within its window, with images if it sees them."""
        window = compaction.TokenBudget.of(model, share)
        messages = compaction.fit(self.turn, self.lease, window, self.note_compaction)
        shown = history.add_images(messages, self.turn.session.user, model)
        self.turn.files_seen = list(dict.fromkeys([*self.turn.files_seen, *shown.file_ids]))
        return shown.messages

    def note_compaction(self, what: str) -> None:
        self.lease.emitter.hint(Framed(StatusNote(what, {"waiting_for": "summary"})))

    def opening(self, number: int, steers: dict[int, list[Message]]) -> list[TurnEvent]:
        events: list[TurnEvent] = [StepFinished()] if number else []
        events.append(StepStarted())
        return events + [Steered(str(message.pk), message.text) for message in steers.get(number, [])]

    def call_ids_before(self, number: int) -> set[str]:
        calls = calls_of(self.turn.pk) if number else ()
        return {call.call_id for call in calls if call.step != number}

    def note_waiting(self, waiting_for: str, seconds: int) -> None:
        note = StatusNote(
            f"Waiting for {waiting_for} for {seconds} seconds.",
            {"waiting_for": waiting_for, "seconds": seconds},
        )
        self.lease.emitter.hint(Framed(note))

    # --- committing -------------------------------------------------------------------------------

    def commit_step(self, completion: Completion) -> list[ToolCallRequest]:
        """Commit the step before its tools run; without tool calls this ends the turn."""
        assert self.round is not None
        stream, number = self.round.stream, self.round.number
        calls = stream.calls(completion)
        parts = stream.final_parts(completion)
        carry = stream.carry(completion)
        events = stream.finish(completion)
        self.count(completion)
        self.unsaved = completion
        write = partial(journal.write_step, self.turn, self.lease.attempt, number, parts, carry, completion)
        if not calls:
            self.before_end()
            crashpoints.reached("before_final_commit")
            self.end_done(completion.finish_reason, events, work=write)
            return []
        self.lease.commit(
            write,
            events=framed([turn_log.metadata_so_far(self.turn), *events]),
            crashes=0,
            **self.totals(),
        )
        self.round = self.unsaved = None
        return calls

    def count(self, completion: Completion) -> None:
        self.turn.input_tokens += completion.usage.input_tokens
        self.turn.output_tokens += completion.usage.output_tokens
        self.turn.cached_tokens += completion.usage.cached_tokens
        self.turn.reasoning_tokens += completion.usage.reasoning_tokens
        self.turn.cost += completion.cost
        self.turn.model_name = completion.model[:128]

    def totals(self) -> dict[str, Any]:
        names = (
            "input_tokens",
            "output_tokens",
            "cached_tokens",
            "reasoning_tokens",
            "cost",
            "model_name",
            "files_seen",
            "sources",
            "files_made",
            "first_word_at",
            "model_failures",
        )
        if self.round is not None and self.turn.first_word_at is None:
            self.turn.first_word_at = self.round.stream.first_word_at
        return {name: getattr(self.turn, name) for name in names}

    # --- tools ------------------------------------------------------------------------------------

    def run_tools(self, number: int, calls: list[ToolCallRequest]) -> bool:
        """Run the step's calls that have no result yet.

        Return False if the turn is at its end: there are no calls, or the client that asked has to run one of them.
        """
        if not calls:
            return False
        self.has_called = True
        done = {call.call_id for call in calls_of(self.turn.pk, number) if call.is_finished}
        outside_content.refresh(self.turn.session)
        names = ", ".join(sorted({call.name for call in calls}))
        with IdleNotices(self.note_waiting, names) as idle:
            scope = CallScope(
                user_id=self.turn.user_id,
                session_id=self.turn.session_id,
                turn_id=self.turn.pk,
                step=number,
                attempt=self.lease.attempt,
                permissions=self.permissions,
                cancelled=self.lease.stop,
                outside_sources=tuple(self.turn.session.outside_sources),
                said=partial(outside_content.texts_of_person, self.turn.session),
                client_tools=self.client_tools,
            )
            told = done | {call.id for call in calls if why_unreadable(call.arguments)}
            ended = run_calls(calls, scope, TurnJournal(self.lease, frozenset(told), idle.touch))
        self.cite([call.output for call in ended])
        self.operations.watch_new()
        return not any(call.output.get("type") == CLIENT_CALL for call in ended)

    def cite(self, results: list[Any]) -> None:
        """Remember the sources and files of results; the next commit writes them. Idempotent."""
        turn = self.turn
        turn.sources = outside_content.add_sources(turn.sources, results)
        if "workspace://" in str(results):
            turn.files_made = attachments.add_files_made(
                turn.files_made, results, user=turn.session.user, since=turn.started_at
            )

    # --- ending -----------------------------------------------------------------------------------

    def end_done(
        self, finish_reason: str, events: list[TurnEvent] | None = None, *, work: Any = lambda: None
    ) -> None:
        reason = Reason.LENGTH if finish_reason == "length" else Reason.DONE
        self.finish(Turn.COMPLETED, reason, "", events or [], work, in_step=True)
        titles.request_title(self.turn.session)

    def end(self, status: str, reason: Reason, error: str = "") -> None:
        """End a turn that was stopped; what was shown of its open step is kept."""
        stream = self.round.stream if self.round is not None else None
        open_prose = stream.open_prose if stream is not None else {}
        in_step = self.round is not None or self.turn.steps.exists()
        self.turn.status, self.turn.end_reason = status, reason
        kept = (
            storable.nearest_json(stream.cut_off(turn_log.not_made(self.turn))) if stream is not None else []
        )

        def keep() -> None:
            self.charge_unsaved()
            if self.round is not None and kept:
                values = {"attempt": self.lease.attempt, "parts": kept, "whole": False}
                Step.objects.update_or_create(turn=self.turn, number=self.round.number, defaults=values)
                journal.write_text(self.turn)

        events = [
            *turn_log.prose_ends(open_prose),
            *turn_log.cut_calls(kept),
            *turn_log.unanswered_calls(self.turn),
        ]
        self.finish(status, reason, error, events, keep, in_step=in_step)

    def charge_unsaved(self) -> None:
        """Charge for an answer that was paid for but could not be committed."""
        if self.round is None or self.unsaved is None:
            return
        charge = partial(journal.charge, self.turn, self.round.number, self.unsaved)
        database.try_one(transaction.atomic(charge), what="The charge for an answer", item=self.turn.pk)

    def finish(
        self, status: str, reason: Reason, error: str, events: list[TurnEvent], work: Any, *, in_step: bool
    ) -> None:
        self.turn.status, self.turn.end_reason, self.turn.error = status, reason, error
        closing_events = turn_log.closing_events(self.turn, open_prose={}, in_step=in_step)

        self.turn.may_have_waits = self.resumed or self.has_called

        def ending() -> None:
            work()
            if self.resumed or self.has_called:
                turn_log.close_calls(self.turn)

        self.lease.finish(
            status,
            reason=reason,
            error=self.turn.error or (turn_log.SENTENCES.get(reason, "") if status == Turn.FAILED else ""),
            work=ending,
            events=framed([*events, *closing_events]),
            **self.totals(),
        )
        crashpoints.reached("after_finish")

    def wait(self, error: llm.RateLimited) -> None:
        """Wait without a worker until the model may be asked again; end the turn if that would be too late."""
        seconds = error.retry_after
        if seconds >= seconds_left(self.turn, self.lease):
            back_at = self.lease.now() + timedelta(seconds=min(seconds, limits.MAX_RETRY_AFTER_SECONDS))
            self.end(Turn.FAILED, Reason.MODEL_ERROR, turn_log.rate_limited_until(back_at))
            return
        note = StatusNote(
            f"The model is rate limited; the next try is in {int(seconds)} seconds.",
            {"waiting_for": "model", "seconds": seconds},
        )
        self.lease.emitter.hint(Framed(note))
        self.lease.wait_until_due(seconds, model_failures=self.turn.model_failures)


def requested(step: Step) -> list[ToolCallRequest]:
    """Return the tool calls of a committed step."""
    return [
        ToolCallRequest(id=part["id"], name=part["name"], arguments=part["arguments"])
        for part in step.parts
        if part["kind"] == "tool"
    ]


def framed(events: list[TurnEvent]) -> list[Framed]:
    return [Framed(event) for event in events]
