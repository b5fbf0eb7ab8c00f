"""Follow-ups: turns that a conversation asks for later."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import Q

from durable.ids import new_id
from executions.schedules.cron import read_cron


class FollowUp(models.Model):
    """A message to the copilot at a later time, once or by cron; `next_run_at` is empty when it is over."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    key = models.CharField(max_length=255, unique=True, help_text="Of the tool call that made it.")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="follow_ups")
    session_id = models.UUIDField(db_index=True, help_text="The conversation it was made in.")
    prompt = models.TextField()
    fresh = models.BooleanField(default=False, help_text="Each time in a new conversation.")
    cron = models.CharField(max_length=100, blank=True, default="", help_text="Empty: once.")
    timezone = models.CharField(max_length=64, default="UTC")
    next_run_at = models.DateTimeField(null=True, blank=True)
    last_run_at = models.DateTimeField(null=True, blank=True)
    last_session_id = models.UUIDField(null=True, blank=True)
    last_error = models.TextField(blank=True, default="")
    permissions = models.JSONField(default=dict)
    outside_sources = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["next_run_at"], name="tools_follow_up_due", condition=Q(next_run_at__isnull=False)
            ),
            models.Index(fields=["user", "-created_at"], name="tools_follow_up_of_user"),
        ]

    def __str__(self) -> str:
        return f"follow-up {self.pk}"

    def time_after(self, moment: datetime) -> datetime | None:
        """Return when it is due after that moment; None when it was due once."""
        return read_cron(self.cron, self.timezone).next_after(moment) if self.cron else None
