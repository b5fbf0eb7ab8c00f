"""No statement of the hot path reads the history: not on PostgreSQL, and not on SQLite."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from accounts.api_keys import create_api_key
from accounts.models import User
from chat import turns
from chat.models import Session, Turn
from chat.sub_sessions import callbacks, outcome
from chat.turns import Input
from copilot_project.ops.console.dashboard import read_dashboard
from copilot_project.ops.metrics import gauges
from durable import jobs
from durable.ids import new_id
from durable.models import Job
from durable.signals import swept
from executions import admission, start
from executions.models import Agent, Execution
from executions.start import ExecutionRequest
from tests.executions.people import make_agent
from tests.scale.plans import Recorder
from tools.models import Operation
from webhooks.models import WebhookDelivery, WebhookEndpoint

HISTORY = 1_000  # rows of each kind that have ended, all of one person
LIVE = 4
KINDS: tuple[type[Job], ...] = (Turn, Execution, Operation, WebhookDelivery)
TABLES = frozenset(model._meta.db_table for model in KINDS)
pytestmark = pytest.mark.usefixtures("redis_server")


class Past:
    """One person who has used the product for years, and has a little at work now."""

    def __init__(self) -> None:
        self.user = User.objects.create_user("ada")
        self.session = Session.objects.create(user=self.user)
        self.agent: Agent = make_agent(self.user)
        self.endpoint = WebhookEndpoint.objects.create(user=self.user, url="https://example.com/")
        for model, more in self._columns().items():
            self._fill(model, HISTORY, model.TERMINAL, more)
            self._fill(model, LIVE, (model.QUEUED,), more)
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")

    def _columns(self) -> dict[type[Job], Callable[[int], dict[str, Any]]]:
        return {
            Turn: lambda n: {"user": self.user, "session": self.session},
            Execution: lambda n: {
                "user": self.user, "agent": self.agent, "version": 1, "session_id": self.session.pk,
            },
            Operation: lambda n: {
                "user": self.user, "session_id": self.session.pk, "turn_id": new_id(), "step": 0,
                "key": f"key-{new_id()}", "arguments": {}, "tool_name": "look", "fingerprint": "same",
            },
            WebhookDelivery: lambda n: {
                "endpoint": self.endpoint, "event_id": str(new_id()), "event_type": "turn.finished", "payload": {},
            },
        }  # fmt: skip

    def _fill(
        self, model: type[Job], count: int, statuses: Any, columns: Callable[[int], dict[str, Any]]
    ) -> None:
        ended = timezone.now() - timedelta(days=30)
        kinds = itertools.cycle(sorted(statuses))
        rows = [
            model(status=status, ended_at=ended if status in model.TERMINAL else None, **columns(number))
            for number, status in zip(range(count), kinds, strict=False)
        ]
        model._default_manager.bulk_create(rows, batch_size=1_000)
        model._default_manager.filter(pk__in=[rows[0].pk]).update(poked_at=None)
        if set(statuses) <= model.TERMINAL:
            model._default_manager.filter(ended_at=ended).update(queued_at=ended)


@pytest.fixture
def past(db: None) -> Past:
    return Past()


def faults_of(work: Callable[[], object]) -> list[str]:
    """Do it, and return the statements in it that read history."""
    recorder = Recorder(TABLES)
    with recorder.recording():
        work()
    assert recorder.statements, "it asked nothing of these tables"
    return recorder.faults()


def test_live_and_terminal_are_all_statuses_and_share_none() -> None:
    assert set(Turn.LIVE) == {Turn.QUEUED, Turn.RUNNING, Turn.WAITING}
    assert set(Execution.LIVE) | Execution.TERMINAL == set(
        dict(Execution.MOVES) | dict.fromkeys(["INCOMPLETE"])
    )
    for model in jobs.job_models():
        assert not set(model.LIVE) & model.TERMINAL
        assert {model.QUEUED, model.RUNNING, model.WAITING} <= set(model.LIVE)
        assert {model.CANCELLED, model.FAILED} <= model.TERMINAL


@pytest.mark.parametrize("model", KINDS)
def test_a_sweep_reads_live_jobs_only(past: Past, model: type[Job]) -> None:
    assert not faults_of(lambda: jobs.sweep(model))


def test_what_else_is_swept_each_second_reads_live_jobs_only(past: Past) -> None:
    queues = frozenset(model.queue for model in KINDS)
    assert not faults_of(lambda: swept.send(sender=None, queues=queues))


def test_a_message_reads_live_turns_only(past: Past) -> None:
    assert not faults_of(lambda: turns.submit(past.session, Input(text="Hello")))


def test_a_turn_is_claimed_kept_and_ended_by_reading_live_turns_only(past: Past) -> None:
    other = Session.objects.create(user=past.user)
    turn = turns.submit(other, Input(text="Hello")).turn

    def work() -> None:
        lease = jobs.claim(Turn, turn.pk, owner="me")
        assert lease is not None
        jobs.renew(Turn, [turn.pk], owner="me")
        lease.finish(Turn.COMPLETED, reason="done")

    assert not faults_of(work)


def test_an_execution_starts_is_claimed_and_ended_by_reading_live_ones_only(past: Past) -> None:
    Execution.live().delete()

    def work() -> None:
        made = start.start(past.user, past.agent, {}, ExecutionRequest()).execution
        admission.next_by_fair_share({past.user.pk: 1}, before=past.user.pk)
        lease = jobs.claim(Execution, made.pk, owner="me")
        assert lease is not None
        lease.finish(Execution.COMPLETED, reason="done")

    assert not faults_of(work)


@pytest.mark.parametrize("model", [Operation, WebhookDelivery])
def test_other_jobs_are_claimed_and_ended_by_reading_live_ones_only(past: Past, model: type[Job]) -> None:
    job = model.live().order_by("queued_at").first()
    assert job is not None

    def work() -> None:
        lease = jobs.claim(model, job.pk, owner="me")
        assert lease is not None
        lease.finish("completed", reason="done")

    assert not faults_of(work)


@pytest.mark.parametrize("path", ["/api/sessions", "/api/sessions/{session}"])
def test_pages_of_conversations_do_not_read_their_history(past: Past, path: str) -> None:
    key = create_api_key(past.user, "test")
    client = Client(headers={"Authorization": f"Bearer {key}"})
    assert not faults_of(lambda: client.get(path.format(session=past.session.pk)))


def test_how_a_turn_stands_is_read_without_its_history(past: Past) -> None:
    queued = Turn.live().order_by("-queued_at").first()
    assert queued is not None
    assert not faults_of(lambda: turns.queue_position(queued.pk))


def test_what_a_session_waits_for_is_read_without_its_history(past: Past) -> None:
    assert not faults_of(lambda: outcome.is_pending(past.session.pk))
    assert not faults_of(lambda: callbacks.waiting_executions(past.session.pk))


def test_a_scrape_and_the_front_page_read_live_jobs_only(past: Past) -> None:
    assert not faults_of(lambda: list(gauges.collect()))
    assert not faults_of(read_dashboard)
