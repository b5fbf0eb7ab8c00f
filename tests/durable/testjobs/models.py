"""A chore, its ticks, and the calls of its hooks."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from durable.models import Job


class Chore(Job):
    """A job that commits `ticks` rows, one after the other."""

    COMPLETED: ClassVar[str] = "completed"
    task_name = "testjobs.run_chore"
    queue = "chores"

    ticks = models.PositiveIntegerField(default=3)
    pace_seconds = models.FloatField(default=0.0)
    room = models.CharField(max_length=32, null=True)
    blocked = models.BooleanField(default=False)

    class Meta(Job.Meta):
        abstract = False
        constraints = [
            models.UniqueConstraint(
                fields=["room"], condition=Q(status="running"), name="testjobs_one_running_per_room"
            )
        ]


class HookCall(models.Model):
    """A hook of a chore was called."""

    chore = models.ForeignKey(Chore, on_delete=models.CASCADE, related_name="calls")
    hook = models.CharField(max_length=32)
    attempt = models.PositiveIntegerField()

    def __str__(self) -> str:
        return self.hook


class Tick(models.Model):
    """One piece of a chore that was done; done twice there are two rows."""

    chore = models.ForeignKey(Chore, on_delete=models.CASCADE, related_name="done")
    number = models.PositiveIntegerField()
    attempt = models.PositiveIntegerField()
    owner = models.CharField(max_length=128)

    def __str__(self) -> str:
        return f"tick {self.number}"
