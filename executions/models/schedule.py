"""Schedules: agents that run by the clock."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django_celery_beat.models import PeriodicTask

from durable.ids import new_id
from executions.models.agent import Agent
from executions.models.execution import Execution


class Schedule(models.Model):
    """Runs an agent by a cron expression in a time zone; beat's own row does the ticking."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="schedules")
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="schedules")
    version = models.PositiveIntegerField(
        null=True, blank=True, help_text="Empty: the newest version at each run."
    )
    name = models.CharField(max_length=200)
    cron = models.CharField(max_length=100)
    timezone = models.CharField(max_length=64, default="UTC")
    inputs = models.JSONField(default=dict)
    enabled = models.BooleanField(default=True)
    session_id = models.UUIDField(null=True, blank=True, help_text="The conversation it was made in.")
    permissions = models.JSONField(
        default=dict, help_text="Blocks allowed and denied, from the conversation it was made in."
    )
    periodic_task = models.OneToOneField(
        PeriodicTask, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    last_due_at = models.DateTimeField(
        null=True, blank=True, help_text="The latest time it was due and was run for."
    )
    next_run_at = models.DateTimeField(
        null=True, blank=True, help_text="When it is due next; empty while it is switched off."
    )
    last_execution = models.ForeignKey(
        Execution, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    last_error = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [
            models.Index(fields=["user", "-created_at"], name="executions_schedule_of_user"),
            models.Index(fields=["next_run_at"], name="executions_schedule_due"),
        ]

    def __str__(self) -> str:
        return self.name
