"""One execution for each time a schedule is due, whoever ticks how often."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.db import DataError
from django.utils import timezone
from django_celery_beat.models import CrontabSchedule, PeriodicTask
from pytest_django import Settings

from accounts.models import User
from durable.signals import swept
from executions.agents import versions
from executions.errors import BadCron, BadInputs, CannotRun, TooManySchedules
from executions.models import Agent, Execution, Schedule
from executions.schedules import actions
from executions.schedules.run_due import due_key, run_due, run_late, run_now
from executions.tasks import run_schedule
from tests.accounts.conftest import race
from tests.executions.people import greeter_graph, hook_graph, import_valid
from tests.executions.schedules.conftest import let_due, make

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis_server")]


def started(schedule: Schedule) -> list[Execution]:
    return list(
        Execution.objects.filter(client_id__startswith=f"schedule:{schedule.pk}:").order_by("queued_at")
    )


def test_it_runs_once_for_the_time_it_was_due(agent: Agent) -> None:
    schedule = make(agent, "*/5 * * * *", inputs={"name": "Ada"})
    assert run_due(schedule.pk) is None, "it was not due yet"
    let_due(schedule)
    run_schedule(str(schedule.pk))
    run_schedule(str(schedule.pk))
    [execution] = started(schedule)
    schedule.refresh_from_db()
    assert schedule.last_due_at is not None and schedule.next_run_at is not None
    assert execution.client_id == due_key(schedule, schedule.last_due_at)
    assert (execution.source, execution.inputs, execution.user) == ("schedule", {"name": "Ada"}, agent.user)
    assert schedule.last_execution == execution
    assert schedule.last_due_at <= timezone.now() < schedule.next_run_at


def test_of_many_missed_times_the_latest_is_run_once(agent: Agent) -> None:
    schedule = make(agent, "*/5 * * * *")
    let_due(schedule, ago=timedelta(days=40))
    assert run_late() == 1
    assert run_late() == 0
    [execution] = started(schedule)
    schedule.refresh_from_db()
    assert schedule.last_due_at is not None
    assert timezone.now() - schedule.last_due_at < timedelta(minutes=5)
    assert execution.client_id == due_key(schedule, schedule.last_due_at)


def test_a_tick_that_was_lost_is_made_up_for_by_a_sweep(agent: Agent) -> None:
    schedule = make(agent)
    let_due(schedule, ago=timedelta(seconds=1))
    swept.send(sender=None, queues={"executions"})
    assert not started(schedule), "beat still has its time"
    let_due(schedule)
    swept.send(sender=None, queues={"turns"})
    assert not started(schedule)
    swept.send(sender=None, queues={"executions"})
    assert len(started(schedule)) == 1


@pytest.mark.django_db(transaction=True)
def test_of_many_ticks_at_once_one_starts_it(agent: Agent) -> None:
    schedule = make(agent)
    for _ in range(3):
        Execution.objects.all().delete()
        let_due(schedule)
        answers = race(lambda: run_due(schedule.pk), 8)
        assert len([answer for answer in answers if answer is not None]) == 1
        assert len(started(schedule)) == 1


def test_it_follows_the_newest_version_unless_pinned(agent: Agent) -> None:
    following, pinned = make(agent), make(agent, version=agent.latest_version)
    first = agent.latest_version
    changed = greeter_graph() | {"description": "changed"}
    versions.save_graph(agent, changed)
    agent.refresh_from_db()
    for schedule, version in ((following, agent.latest_version), (pinned, first)):
        let_due(schedule)
        execution = run_due(schedule.pk)
        assert execution is not None and execution.version == version


def test_an_agent_that_cannot_run_is_said_and_the_schedule_stays(agent: Agent) -> None:
    schedule = make(agent, "*/5 * * * *")
    broken = greeter_graph()
    broken["nodes"][0]["block_id"] = str(uuid.uuid4())
    versions.save_graph(agent, broken)
    let_due(schedule)
    assert run_due(schedule.pk) is None
    schedule.refresh_from_db()
    assert "has problems" in schedule.last_error
    assert schedule.enabled and schedule.next_run_at is not None and schedule.next_run_at > timezone.now()
    versions.save_graph(agent, greeter_graph())
    let_due(schedule)
    assert run_due(schedule.pk) is not None
    schedule.refresh_from_db()
    assert schedule.last_error == ""


def test_a_deleted_agent_is_said_and_the_schedule_stays(agent: Agent) -> None:
    schedule = make(agent)
    Agent.objects.update(deleted_at=timezone.now())
    let_due(schedule)
    assert run_due(schedule.pk) is None
    schedule.refresh_from_db()
    assert "was deleted" in schedule.last_error
    with pytest.raises(CannotRun, match="was deleted"):
        run_now(Schedule.objects.get())


def test_nothing_runs_for_a_deactivated_account(agent: Agent, ada: User) -> None:
    schedule = make(agent)
    User.objects.filter(pk=ada.pk).update(is_active=False)
    let_due(schedule)
    assert run_due(schedule.pk) is None
    schedule.refresh_from_db()
    assert "deactivated" in schedule.last_error


def test_an_error_nobody_foresaw_costs_one_due_time(agent: Agent, caplog: pytest.LogCaptureFixture) -> None:
    schedule = make(agent, "*/5 * * * *")
    agent.versions.update(input_schema=7)
    let_due(schedule)
    assert run_due(schedule.pk) is None
    schedule.refresh_from_db()
    assert "error on our side" in schedule.last_error
    assert schedule.next_run_at is not None and schedule.next_run_at > timezone.now()
    assert "could not be started" in caplog.text


def test_a_time_zone_that_vanished_stops_it_with_a_reason(agent: Agent) -> None:
    schedule = make(agent)
    Schedule.objects.update(timezone="Atlantis/Poseidonis")
    let_due(schedule)
    assert run_due(schedule.pk) is None
    schedule.refresh_from_db()
    assert "Atlantis/Poseidonis" in schedule.last_error
    assert schedule.next_run_at is None and run_late() == 0


def test_run_now_runs_at_once_due_or_not_on_or_off(agent: Agent) -> None:
    schedule = make(agent, enabled=False)
    first, second = run_now(schedule), run_now(schedule)
    assert first != second
    assert run_now(schedule, client_id="a") == run_now(schedule, client_id="a")
    schedule.refresh_from_db()
    assert schedule.last_due_at is None and schedule.next_run_at is None
    assert schedule.last_execution is not None


def test_switched_off_nothing_runs_and_switched_on_nothing_is_made_up_for(agent: Agent) -> None:
    schedule = make(agent, "*/5 * * * *")
    let_due(schedule, ago=timedelta(days=1))
    actions.change(schedule, enabled=False)
    assert run_due(schedule.pk) is None and run_late() == 0
    actions.change(schedule, enabled=True)
    assert run_due(schedule.pk) is None and run_late() == 0
    schedule.refresh_from_db()
    assert schedule.next_run_at is not None and schedule.next_run_at > timezone.now()


def test_what_the_conversation_permits_holds_for_its_schedules(agent: Agent) -> None:
    schedule = make(agent, permissions={"blocks": {"deny": ["Agent Input"]}})
    let_due(schedule)
    assert run_due(schedule.pk) is None
    schedule.refresh_from_db()
    assert "may not use" in schedule.last_error


def test_a_schedule_that_is_gone_is_nothing() -> None:
    run_schedule(str(uuid.uuid4()))


# --- making and changing ------------------------------------------------------------------------


def test_beats_own_row_follows_the_schedule(agent: Agent) -> None:
    schedule = make(agent, "*/15 9-10 1 * *", timezone="Europe/Paris")
    task = PeriodicTask.objects.get(name=f"schedule {schedule.pk}")
    crontab = task.crontab
    assert (task.task, task.args, task.queue) == (
        "executions.run_schedule",
        f'["{schedule.pk}"]',
        "executions",
    )
    assert (crontab.minute, crontab.hour, crontab.day_of_month) == ("0,15,30,45", "9,10", "1")
    assert (crontab.day_of_week, crontab.month_of_year, str(crontab.timezone)) == ("*", "*", "Europe/Paris")
    actions.change(schedule, cron="0 9 1 * fri", enabled=False)
    task.refresh_from_db()
    assert not task.enabled
    assert (task.crontab.day_of_month, task.crontab.day_of_week) == ("*", "*"), "cron means either"
    assert not CrontabSchedule.objects.filter(pk=crontab.pk).exists(), "nobody needs it any more"
    actions.delete(schedule)
    assert not PeriodicTask.objects.filter(pk=task.pk).exists()
    assert not CrontabSchedule.objects.filter(timezone="Europe/Paris").exists()


def test_schedules_that_are_alike_share_beats_crontab(agent: Agent) -> None:
    one, other = make(agent), make(agent)
    assert CrontabSchedule.objects.filter(hour="9").count() == 1
    actions.delete(one)
    assert PeriodicTask.objects.get(name=f"schedule {other.pk}").crontab.hour == "9"


def test_with_its_agent_or_user_beats_row_goes_too(agent: Agent, ada: User) -> None:
    make(agent)
    ada.delete()
    assert not PeriodicTask.objects.filter(task="executions.run_schedule").exists()


def test_the_time_zone_is_the_persons_unless_said(agent: Agent, ada: User) -> None:
    ada.time_zone = "Asia/Tokyo"
    ada.save()
    agent.refresh_from_db()
    assert make(agent).timezone == "Asia/Tokyo"
    assert make(agent, timezone="UTC").timezone == "UTC"


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"cron": "nonsense"}, BadCron),
        ({"timezone": "Mars/Olympus"}, BadCron),
        ({"version": 99}, CannotRun),
        ({"inputs": {"nobody": 1}}, BadInputs),
    ],
)
def test_what_would_fail_at_every_run_is_refused_at_once(
    agent: Agent, change: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        make(agent, **{"cron": "0 9 * * *"} | change)
    schedule = make(agent)
    with pytest.raises(error):
        actions.change(schedule, **change)
    fresh = Schedule.objects.get()
    assert (fresh.cron, fresh.version, fresh.inputs) == ("0 9 * * *", None, {})


def test_an_agent_that_waits_for_a_call_has_no_schedule(ada: User) -> None:
    with pytest.raises(CannotRun, match="webhook"):
        make(import_valid(ada, hook_graph()))


def test_there_is_a_last_one_a_person_may_have(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("executions.limits.MAX_SCHEDULES_PER_USER", 1)
    make(agent)
    with pytest.raises(TooManySchedules):
        make(agent)


def test_a_higher_least_time_does_not_stop_schedules_that_are_there(agent: Agent, settings: Settings) -> None:
    schedule = make(agent, "* * * * *")
    settings.COPILOT_MIN_SCHEDULE_SECONDS = 3600.0
    let_due(schedule)
    assert run_due(schedule.pk) is not None
    assert actions.change(schedule, name="Renamed").name == "Renamed"
    with pytest.raises(BadCron, match="more often"):
        actions.change(schedule, cron="* * * * *")


def test_a_late_schedule_that_cannot_even_be_noted_keeps_no_other_one_waiting(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good = make(agent), make(agent)
    let_due(bad, ago=timedelta(hours=2))
    let_due(good)
    save = Schedule.save

    def refuse(self: Schedule, **options: Any) -> None:
        if self.pk == bad.pk:
            raise DataError("unsupported Unicode escape sequence")
        save(self, **options)

    monkeypatch.setattr(Schedule, "save", refuse)
    assert run_late() == 1
    assert (len(started(good)), len(started(bad))) == (1, 0)
    monkeypatch.undo()
    assert run_late() == 1
    assert len(started(bad)) == 1
