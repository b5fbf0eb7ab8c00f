"""Presets: saved inputs of agents."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from durable.ids import new_id
from executions.models.agent import Agent


class Preset(models.Model):
    """Inputs under a name, with which an agent can be run again."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="presets")
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="presets")
    name = models.CharField(max_length=200)
    inputs = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["agent", "name"], name="executions_one_preset_per_name")
        ]

    def __str__(self) -> str:
        return self.name
