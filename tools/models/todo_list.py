"""To-do lists that the model keeps for a conversation."""

from __future__ import annotations

import uuid

from django.db import models


class TodoList(models.Model):
    """The list of one conversation: `{"text", "status"}` each, in order."""

    session_id = models.UUIDField(primary_key=True)
    items = models.JSONField(default=list)
    updated_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"to-do list of {self.session_id}"

    @classmethod
    def of(cls, session_id: uuid.UUID) -> list[dict[str, str]]:
        found = cls.objects.filter(pk=session_id).values_list("items", flat=True).first()
        return found or []
