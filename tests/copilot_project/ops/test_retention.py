"""What is thrown away when it is old, and that nobody misses it."""

from __future__ import annotations

import io
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone
from pytest_django import Settings

from accounts.models import User
from chat.delivery import reader
from chat.models import Message, Session, Step, Turn
from copilot_project.ops import retention
from copilot_project.tasks import delete_old
from durable import event_log
from durable.event_log import START, LoggedEvent, Position
from durable.models import EventPage

TEXT = "Said long ago."


def ended_turn(days: float, *, status: str = "completed") -> Turn:
    """A turn of one step that ended so long ago, with a recorded stream."""
    user, _ = User.objects.get_or_create(username="ann")
    session = Session.objects.create(user=user)
    turn = Turn.objects.create(session=session, user=user, status=status, end_reason="done", attempt=1)
    Turn.objects.filter(pk=turn.pk).update(ended_at=timezone.now() - timedelta(days=days))
    Message.objects.create(pk=turn.answer_id, session=session, turn=turn, role="assistant", text=TEXT)
    Step.objects.create(turn=turn, number=0, attempt=1, parts=[{"kind": "text", "text": TEXT}])
    event_log.store(turn.pk, [LoggedEvent(Position(1, 1), START, '{"type":"start"}')])
    return turn


def pages(turn: Turn) -> int:
    return EventPage.objects.filter(job_id=turn.pk).count()


@pytest.mark.django_db
def test_old_streams_go_and_young_ones_and_the_messages_stay(settings: Settings) -> None:
    settings.COPILOT_KEEP_EVENTS_DAYS = 30
    old, young = ended_turn(31), ended_turn(29)
    assert retention.delete_old()["event pages"] == 1
    assert (pages(old), pages(young)) == (0, 1)
    assert old.messages.get().text == TEXT
    assert retention.delete_old()["event pages"] == 0


@pytest.mark.django_db
def test_a_turn_that_has_not_ended_keeps_its_stream_however_old_it_is(settings: Settings) -> None:
    settings.COPILOT_KEEP_EVENTS_DAYS = 1
    turn = ended_turn(400, status="waiting")
    retention.delete_old()
    assert pages(turn) == 1


@pytest.mark.django_db
def test_zero_days_keep_everything(settings: Settings) -> None:
    settings.COPILOT_KEEP_EVENTS_DAYS = settings.COPILOT_KEEP_EXECUTIONS_DAYS = 0
    turn = ended_turn(4000)
    delete_old.run()
    assert pages(turn) == 1


@pytest.mark.django_db(transaction=True)
async def test_a_turn_whose_stream_is_gone_is_read_from_its_rows(redis_server: object) -> None:
    from asgiref.sync import sync_to_async

    turn = await sync_to_async(ended_turn)(99)
    await sync_to_async(retention.old_events)()
    bodies = [entry.body async for batch in reader.read(turn.pk) for entry in batch]
    assert TEXT in "".join(bodies)
    assert '"finish"' in bodies[-1]
    late = [entry.body async for batch in reader.read(turn.pk, after=Position(1, 1)) for entry in batch]
    assert len(late) == 1 and '"finish"' in late[0]


@pytest.mark.django_db
def test_the_command_says_what_it_removed(settings: Settings) -> None:
    settings.COPILOT_KEEP_EVENTS_DAYS = 30
    ended_turn(31)
    out = io.StringIO()
    call_command("retention", stdout=out)
    assert "       1  event pages" in out.getvalue()


@pytest.mark.django_db
def test_a_broom_that_breaks_keeps_no_other_one_from_sweeping(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    settings.COPILOT_KEEP_EVENTS_DAYS = 30
    turn = ended_turn(31)

    def broken() -> int:
        raise KeyError("a row nobody foresaw")

    deleters = {"broken": broken} | retention.DELETERS
    monkeypatch.setattr(retention, "DELETERS", deleters)
    removed = retention.delete_old()
    assert (removed["broken"], removed["event pages"], pages(turn)) == (0, 1, 0)
    assert "Deleting old data failed for broken" in caplog.text
