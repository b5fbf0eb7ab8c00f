"""Actions on schedules: create, change, delete, each with its row of Celery beat."""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from django_celery_beat.models import CrontabSchedule, PeriodicTask

from accounts.models import User
from blocks.ports import JSON
from durable.clock import database_now
from durable.database import in_transaction
from durable.ids import new_id
from executions import limits
from executions.errors import TooManySchedules
from executions.graph import parse_graph
from executions.inputs import fit_inputs
from executions.models import Agent, Execution, Schedule
from executions.schedules.cron import Cron, parse_cron, read_cron
from executions.start import ExecutionRequest, check_graph, check_not_removed, find_version

TASK = "executions.run_schedule"
ALL = "*"


@dataclass(frozen=True, kw_only=True)
class NewSchedule:
    """What to run when; an empty time zone is the user's own, no version means the newest at each run."""

    agent: Agent
    name: str
    cron: str
    timezone: str = ""
    inputs: Mapping[str, JSON] = field(default_factory=dict)
    version: int | None = None
    enabled: bool = True
    session_id: uuid.UUID | None = None
    permissions: Mapping[str, JSON] = field(default_factory=dict)
    id: uuid.UUID | None = None  # the same id again is refused by the database


def create(user: User, new: NewSchedule) -> Schedule:
    """Create a schedule; raises BadCron, TooManySchedules, CannotRun or BadInputs."""
    cron = parse_cron(new.cron, new.timezone or user.time_zone)
    check_agent(new.agent, new.version, new.inputs)

    @in_transaction
    def insert() -> Schedule:
        User.objects.select_for_update(no_key=True).get(pk=user.pk)  # two at once cannot both be the last
        if Schedule.objects.filter(user=user).count() >= limits.MAX_SCHEDULES_PER_USER:
            raise TooManySchedules
        schedule = Schedule(
            id=new.id or new_id(),
            user=user,
            agent=new.agent,
            version=new.version,
            name=new.name,
            inputs=dict(new.inputs),
            enabled=new.enabled,
            session_id=new.session_id,
            permissions=dict(new.permissions),
        )
        follow(schedule, cron)
        schedule.save()
        return schedule

    return insert()


def change(schedule: Schedule, **values: Any) -> Schedule:
    """Change name, cron, timezone, inputs, version or enabled; raises as `create` does."""
    if values.get("enabled"):
        check_not_removed(schedule.agent)
    for name, value in values.items():
        setattr(schedule, name, value)
    moved = {"cron", "timezone"} & values.keys()
    cron = (parse_cron if moved else read_cron)(schedule.cron, schedule.timezone)
    if {"inputs", "version"} & values.keys():
        check_agent(schedule.agent, schedule.version, schedule.inputs)

    @in_transaction
    def update() -> None:
        Schedule.objects.select_for_update(no_key=True).get(pk=schedule.pk)
        if moved or "enabled" in values:
            follow(schedule, cron)
        else:
            keep_ticking(schedule, cron)
        changed = {*values, "cron", "timezone", "next_run_at", "periodic_task", "last_error"}
        schedule.last_error = ""
        schedule.save(update_fields=changed)

    update()
    return schedule


def follow(schedule: Schedule, cron: Cron) -> None:
    """Set the next run from now on: runs due before it was created or enabled are not made up for."""
    schedule.cron, schedule.timezone = cron.expression, cron.timezone
    schedule.next_run_at = cron.next_after(database_now()) if schedule.enabled else None
    keep_ticking(schedule, cron)


def delete(schedule: Schedule) -> None:
    """Delete a schedule; executions it has started go on."""
    schedule.delete()


def check_agent(agent: Agent, number: int | None, inputs: Mapping[str, JSON]) -> None:
    """Raise now what would fail at every run."""
    version = find_version(agent, number)
    check_graph(parse_graph(version.graph), agent, ExecutionRequest())
    fit_inputs(inputs, version.input_schema)


def keep_ticking(schedule: Schedule, cron: Cron) -> None:
    """Update beat's row from the schedule; beat notices within seconds."""
    task = schedule.periodic_task or PeriodicTask(name=f"schedule {schedule.pk}", task=TASK)
    before = task.crontab
    task.crontab = row_of(cron)
    task.args = json.dumps([str(schedule.pk)])
    task.queue = Execution.queue
    task.enabled = schedule.enabled
    task.description = f"{schedule.name}: {cron.words}"[:1_000]
    task.save()
    schedule.periodic_task = task
    if before is not None and before != task.crontab:
        drop_unused(before)


def stop_ticking(sender: type[Schedule], instance: Schedule, **kwargs: Any) -> None:
    """Delete beat's row with the schedule, also when its agent or user was deleted."""
    if instance.periodic_task is not None:
        crontab = instance.periodic_task.crontab
        instance.periodic_task.delete()
        drop_unused(crontab)


def drop_unused(crontab: CrontabSchedule | None) -> None:
    if crontab is not None and not crontab.periodictask_set.exists():
        crontab.delete()


def row_of(cron: Cron) -> CrontabSchedule:
    """Return a crontab that ticks at least whenever the expression is due; equal schedules share it."""
    values = tick_fields(cron) | {"timezone": cron.timezone}
    return CrontabSchedule.objects.filter(**values).first() or CrontabSchedule.objects.create(**values)


def tick_fields(cron: Cron) -> dict[str, str]:
    parsed = cron.parsed
    either = not parsed.day_and
    weekdays = {day if isinstance(day, tuple) else day % 7 for day in parsed.weekdays}
    return {
        "minute": listed(parsed.minutes, 60),
        "hour": listed(parsed.hours, 24),
        "day_of_month": ALL if either else listed(parsed.days, 31),
        "month_of_year": listed(parsed.months, 12),
        "day_of_week": ALL if either else listed(weekdays, 7),
    }


def listed(values: Collection[object], every: int) -> str:
    """Return `0,15,30`, or `*` if it is all values or one of them (the last Friday) has no form in beat."""
    numbers = sorted(value for value in values if isinstance(value, int) and value >= 0)
    if len(numbers) != len(values) or len(numbers) == every:
        return ALL
    return ",".join(map(str, numbers))
