"""/metrics says what the rows say, at a cost that does not grow with them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import LedgerEntry, User
from chat.models import Attempt, Session, Turn
from copilot_project import limits
from copilot_project.celery import app
from copilot_project.ops.metrics.models import RunningTotal
from copilot_project.ops.metrics.rollup import advance, count_of
from copilot_project.ops.metrics.sources import SOURCES
from durable.ids import new_id
from durable.lifecycle import lifecycle_of
from durable.models import Cause, WorkerBeat
from tests.harness import ROOT
from tools.models import Operation, ToolCall

pytestmark = pytest.mark.django_db
LONG_AGO = timedelta(days=2)
TURNS = next(source for source in SOURCES if source.name == "turns")


@pytest.fixture(autouse=True)
def nothing_counted_yet(db: None) -> None:
    """A thread that an earlier test of this process left at work may have committed rows after their tables were
    emptied; these tests count all there are."""
    WorkerBeat.objects.all().delete()
    for source in SOURCES:
        source.rows().delete()


@pytest.fixture(autouse=True)
def redis(redis_server: subprocess.Popen[bytes]) -> Iterator[None]:
    yield
    for queue in ("turns", "operations"):
        with app.connection_for_write() as broker:
            channel: Any = broker.default_channel
            channel.queue_purge(queue)


@pytest.fixture
def session() -> Session:
    return Session.objects.create(user=User.objects.create_user("ann"))


def numbers(client: Client) -> dict[str, float]:
    page = client.get("/metrics").content.decode()
    lines = (line.rsplit(" ", 1) for line in page.splitlines() if not line.startswith("#"))
    return {name: float(number) for name, number in lines}


def turn(session: Session, ago: timedelta = timedelta(), seconds: float = 1.5, **more: Any) -> Turn:
    ended_at = timezone.now() - ago
    started_at = ended_at - timedelta(seconds=seconds)
    values: dict[str, Any] = {"status": "completed", "end_reason": "done", "started_at": started_at}
    made = Turn.objects.create(session=session, ended_at=ended_at, **(values | more))
    Turn.objects.filter(pk=made.pk).update(queued_at=started_at - timedelta(seconds=0.2))
    return made


def call(session: Session, key: str, **more: Any) -> ToolCall:
    now = timezone.now()
    values: dict[str, Any] = {"state": "succeeded", "started_at": now, "ended_at": now}
    ids = {"turn_id": new_id(), "session_id": session.pk, "call_id": key, "key": key}
    return ToolCall.objects.create(
        name="web_fetch", step=0, index=0, arguments={}, attempt=1, **ids, **(values | more)
    )


DONE = 'ratchet_turns_total{end_reason="done",status="completed"}'


def test_metrics_count_what_the_database_says(client: Client, session: Session) -> None:
    first = turn(session, first_word_at=timezone.now())
    turn(session)
    turn(session, status="failed", end_reason="model_error")
    Turn.objects.create(session=session, status="queued")
    Attempt.objects.create(turn=first, number=1, owner="a", first_step=0)
    Attempt.objects.create(turn=first, number=2, owner="b", first_step=0, cause=Cause.WORKER_LOST)
    call(session, "one")
    call(session, "two", state="failed")
    LedgerEntry.objects.create(
        key="x",
        kind="model",
        amount=Decimal("0.25"),
        input_tokens=7,
        output_tokens=5,
        created_at=timezone.now(),
    )
    found = numbers(client)
    assert found[DONE] == 2
    assert found['ratchet_turns_total{end_reason="model_error",status="failed"}'] == 1
    assert found["ratchet_turn_seconds_count"] == 3
    assert found['ratchet_turn_seconds_bucket{le="1.0"}'] == 0
    assert found['ratchet_turn_seconds_bucket{le="2.5"}'] == 3
    assert found["ratchet_turn_seconds_sum"] == pytest.approx(4.5)
    assert found["ratchet_turn_first_word_seconds_count"] == 1
    assert found['ratchet_turn_queue_seconds_bucket{le="0.25"}'] == 3
    assert found['ratchet_jobs{kind="turn",status="queued"}'] == 1
    assert found['ratchet_takeovers_total{cause="worker_lost"}'] == 1
    assert found['ratchet_tool_calls_total{state="succeeded",tool="web_fetch"}'] == 1
    assert found['ratchet_tool_calls_total{state="failed",tool="web_fetch"}'] == 1
    assert found['ratchet_tool_call_seconds_count{tool="web_fetch"}'] == 2
    assert found['ratchet_tokens_total{direction="in"}'] == 7
    assert found['ratchet_tokens_total{direction="out"}'] == 5
    assert found['ratchet_cost_usd_total{kind="model"}'] == 0.25
    assert found["ratchet_workers"] == 0


def test_what_was_counted_stays_counted_when_its_row_is_deleted(client: Client, session: Session) -> None:
    for _ in range(3):
        turn(session, ago=LONG_AGO)
    turn(session)
    assert numbers(client)[DONE] == 4
    Turn.objects.filter(ended_at__lt=timezone.now() - timedelta(days=1)).delete()
    turn(session)
    assert numbers(client)[DONE] == 5


def test_old_rows_are_added_up_once_and_piece_by_piece(
    client: Client, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "METRICS_BATCH_ROWS", 2)
    for hours in range(7):
        turn(session, ago=LONG_AGO + timedelta(hours=hours))
    same_moment = timezone.now() - timedelta(days=5)
    Turn.objects.bulk_create(
        Turn(session=session, status="completed", end_reason="done", ended_at=same_moment) for _ in range(5)
    )
    assert numbers(client)[DONE] == 12
    assert numbers(client)[DONE] == 12
    kept = RunningTotal.objects.get(source="turns")
    assert sum(kept.numbers["counts"]["ratchet_turns"].values()) == 12


def test_a_row_that_may_still_have_companions_under_way_is_not_put_into_the_total(session: Session) -> None:
    turn(session, ago=timedelta(seconds=limits.METRICS_SETTLED_SECONDS - 30))
    assert count_of(TURNS).counts["ratchet_turns"] == {"completed\x1fdone": 1}
    assert advance(TURNS).numbers["counts"] == {}
    late = timezone.now() - timedelta(seconds=limits.METRICS_SETTLED_SECONDS - 60)
    Turn.objects.create(session=session, status="completed", end_reason="done", ended_at=late)
    assert count_of(TURNS).counts["ratchet_turns"] == {"completed\x1fdone": 2}


def test_two_processes_that_add_up_the_same_count_it_once(session: Session) -> None:
    """Each piece is one conditional UPDATE: the one that comes second changes nothing."""
    turn(session, ago=LONG_AGO)
    before = datetime(1970, 1, 1, tzinfo=timezone.get_default_timezone())
    first = advance(TURNS)
    overtaken = RunningTotal.objects.filter(source="turns", until=before).update(numbers={})
    assert overtaken == 0
    assert advance(TURNS).numbers == first.numbers
    assert count_of(TURNS).counts["ratchet_turns"] == {"completed\x1fdone": 1}


def test_the_call_of_an_operation_counts_once_with_its_end(client: Client, session: Session) -> None:
    made = call(session, "long", ended_at=timezone.now() - LONG_AGO)
    operation = Operation.objects.create(
        status="running", key="long", session_id=session.pk, turn_id=made.turn_id, step=0, call_id="long",
        tool_name="web_fetch", arguments={}, fingerprint="",
    )  # fmt: skip
    name = 'ratchet_tool_calls_total{state="failed",tool="web_fetch"}'
    assert name not in numbers(client)
    assert 'ratchet_tool_calls_total{state="succeeded",tool="web_fetch"}' not in numbers(client)
    Operation.objects.filter(pk=operation.pk).update(
        status="failed", end_reason="failed", ended_at=timezone.now()
    )
    lifecycle_of(Operation).ended(Operation.objects.get(pk=operation.pk))
    found = numbers(client)
    assert found[name] == 1
    assert found['ratchet_operations_total{end_reason="failed",status="failed"}'] == 1
    assert 'ratchet_tool_calls_total{state="succeeded",tool="web_fetch"}' not in found


def test_a_scrape_asks_as_much_with_many_rows_as_with_few(client: Client, session: Session) -> None:
    def asked() -> int:
        with CaptureQueriesContext(connection) as queries:
            numbers(client)
        return len(queries)

    numbers(client)  # makes the rows of the totals
    few = asked()
    old = timezone.now() - LONG_AGO
    Turn.objects.bulk_create(
        Turn(session=session, status="completed", end_reason="done", started_at=old, ended_at=old)
        for _ in range(2_000)
    )
    RunningTotal.objects.all().delete()
    numbers(client)
    assert asked() == few


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_the_newest_rows_are_found_by_an_index(source: Any) -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off")  # which it prefers while a table is empty
    plan = source.between(timezone.now()).order_by().values_list(*source.columns).explain()
    assert f"{source.at}>?" in plan or f"Index Cond: ({source.at} >=" in plan, plan


def test_every_metric_is_in_the_guide(client: Client) -> None:
    page = client.get("/metrics").content.decode()
    exposed = set(re.findall(r"^# TYPE (\w+) ", page, re.MULTILINE))
    guide = (ROOT / "docs" / "reference" / "monitoring.md").read_text()
    assert exposed == set(re.findall(r"`(ratchet_\w+)`", guide))


def test_the_queues_of_the_broker_are_measured(client: Client) -> None:
    before = numbers(client)
    assert (before["ratchet_broker_up"], before['ratchet_broker_messages{queue="turns"}']) == (1, 0)
    for _ in range(3):
        app.send_task("chat.run_turn", args=[str(new_id())], queue="turns", retry=False)
    assert numbers(client)['ratchet_broker_messages{queue="turns"}'] == 3
    assert numbers(client)['ratchet_broker_messages{queue="operations"}'] == 0
