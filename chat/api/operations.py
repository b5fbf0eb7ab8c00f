"""/api/operations: how far long work is, and stopping it. Whose it is, its session says."""

from __future__ import annotations

import uuid

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from chat.api.serializers import Cancelled
from chat.api.view import ChatView
from durable import statuses
from tools.models import Operation
from tools.operations import cancelling


class OperationShape(serializers.ModelSerializer[Operation]):
    """A long-running tool call."""

    status = serializers.ChoiceField(statuses.STATUSES)
    error = serializers.SerializerMethodField()
    end_reason = serializers.SerializerMethodField()
    result = serializers.JSONField(allow_null=True)
    accepted = serializers.BooleanField(
        source="external", help_text="An outside service took the work on, and answers when it is done."
    )

    class Meta:
        model = Operation
        fields = [
            "id",
            "task_id",
            "session_id",
            "turn_id",
            "tool_name",
            "status",
            "accepted",
            "end_reason",
            "progress",
            "message",
            "result",
            "error",
            "attempt",
            "queued_at",
            "started_at",
            "ended_at",
        ]
        read_only_fields = fields

    def get_error(self, operation: Operation) -> str | None:
        return operation.error or None

    def get_end_reason(self, operation: Operation) -> str | None:
        return operation.end_reason or None


class OperationView(ChatView):
    """What is not the caller's is not found."""

    def operation(self, operation_id: uuid.UUID) -> Operation:
        sessions = self.owner.sessions().values("pk")
        found = Operation.objects.filter(pk=operation_id, session_id__in=sessions).first()
        if found is None:
            raise Http404
        return found


class OneOperation(OperationView):
    """One operation."""

    @extend_schema(responses=OperationShape)
    def get(self, request: Request, operation_id: uuid.UUID) -> Response:
        """How far it is, and what came of it."""
        return Response(OperationShape(self.operation(operation_id)).data)


class CancelOperation(OperationView):
    """Stop an operation."""

    @extend_schema(request=None, responses=Cancelled)
    def post(self, request: Request, operation_id: uuid.UUID) -> Response:
        """Stop it, and answer whether it has stopped. Asking twice is harmless."""
        answer = cancelling.cancel(self.operation(operation_id).pk)
        shown = {"cancelled": answer.cancelled} | ({"reason": answer.reason} if answer.reason else {})
        return Response(shown)
