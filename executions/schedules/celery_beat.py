"""Rows of celery beat: each makes it send `executions.run_schedule` about when its schedule is due.

A tick is a poke: it may come twice, late, or when nothing is due. Celery reads days of month and week together where
cron reads either, and treats daylight saving time differently; so where they differ the row ticks more often, and
whether the schedule is due is decided by `run_due` alone.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from django_celery_beat.models import CrontabSchedule, PeriodicTask

from executions.models import Execution, Schedule
from executions.schedules.cron import Cron

TASK = "executions.run_schedule"
ALL = "*"


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
