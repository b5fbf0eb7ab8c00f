"""Serializer fields for an agent of the user's own library."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.request import Request

from accounts.api.authentication import current_user
from executions.models import Agent


class OwnAgentField(serializers.PrimaryKeyRelatedField[Agent]):
    """An agent by id; other users' agents are reported as missing."""

    default_error_messages = {"does_not_exist": "There is no such agent in your library."}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(pk_field=serializers.UUIDField(), **kwargs)

    def get_queryset(self) -> QuerySet[Agent]:
        request: Request = self.context["request"]
        return Agent.objects.filter(user=current_user(request), deleted_at=None)


class AgentRemovedField(serializers.BooleanField):
    """Whether the agent of the row has been deleted from the library; the row and its past runs remain."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            source="agent.is_removed",
            read_only=True,
            help_text="Whether the agent has been deleted from the library.",
            **kwargs,
        )
