"""Stored values: JSON that blocks keep by user, agent, node or node execution."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from executions.models.fields import OrderedJSON


class StoredValue(models.Model):
    """One value under one name in one scope."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    scope = models.CharField(max_length=255, help_text="The kind of scope and the id of what it belongs to.")
    key = models.CharField(max_length=255)
    value = OrderedJSON(null=True)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "scope", "key"], name="executions_one_value_per_key")
        ]

    def __str__(self) -> str:
        return f"{self.scope} {self.key}"
