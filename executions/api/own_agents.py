"""The agent a schedule or a trigger is for: one of the library of whoever asks."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.request import Request

from accounts.api.authentication import current_user
from executions.models import Agent


class OwnAgentField(serializers.PrimaryKeyRelatedField[Agent]):
    """By its id; another's is as unknown as one that does not exist."""

    default_error_messages = {"does_not_exist": "There is no such agent in your library."}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(pk_field=serializers.UUIDField(), **kwargs)

    def get_queryset(self) -> QuerySet[Agent]:
        request: Request = self.context["request"]
        return Agent.objects.filter(user=current_user(request), deleted_at=None)
