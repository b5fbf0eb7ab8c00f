"""/api/operations: follow, cancel and complete long-running tool calls."""

from __future__ import annotations

import hmac
import uuid
from typing import Any

from django.conf import settings
from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from chat.api.serializers import Cancelled
from chat.api.sessions import cancel_shape
from chat.api.view import ChatView
from chat.errors import CompletionTooLarge, NoKeyConfigured, NotAuthorised
from durable.models import STATUSES
from tools import limits
from tools.errors import UnknownOperation
from tools.models import Operation
from tools.operations import cancellation, secrets
from tools.operations.completion import complete


class OperationShape(serializers.ModelSerializer[Operation]):
    """A long-running tool call."""

    status = serializers.ChoiceField(STATUSES)
    error = serializers.SerializerMethodField()
    end_reason = serializers.SerializerMethodField()
    result = serializers.JSONField(allow_null=True)
    answer = serializers.SerializerMethodField(
        help_text="The result of the call in the conversation: operation_pending while it runs."
    )
    accepted = serializers.BooleanField(
        source="external", help_text="An outside service has accepted the work and will report its result."
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
            "answer",
            "error",
            "attempt",
            "queued_at",
            "started_at",
            "ended_at",
        ]
        read_only_fields = fields

    def get_answer(self, operation: Operation) -> dict[str, Any]:
        return operation.answer()

    def get_error(self, operation: Operation) -> str | None:
        return operation.error or None

    def get_end_reason(self, operation: Operation) -> str | None:
        return operation.end_reason or None


class OperationView(ChatView):
    """Finds operations of the caller's own sessions only."""

    def operation(self, operation_id: uuid.UUID) -> Operation:
        sessions = self.owner.sessions().values("pk")
        found = Operation.objects.filter(pk=operation_id, session_id__in=sessions).first()
        if found is None:
            raise Http404
        return found


class OneOperation(OperationView):
    """One operation."""

    @extend_schema(summary="Get an operation", responses=OperationShape)
    def get(self, request: Request, operation_id: uuid.UUID) -> Response:
        """Return its progress and its result."""
        return Response(OperationShape(self.operation(operation_id)).data)


class CancelOperation(OperationView):
    """Stop an operation."""

    @extend_schema(summary="Cancel an operation", request=None, responses=Cancelled)
    def post(self, request: Request, operation_id: uuid.UUID) -> Response:
        """Stop it and return whether it has stopped. Idempotent."""
        return Response(cancel_shape(cancellation.cancel(self.operation(operation_id).pk)))


class Answer(serializers.Serializer[Any]):
    success = serializers.BooleanField()
    result = serializers.JSONField(required=False, allow_null=True, default=None)
    error = serializers.CharField(required=False, allow_blank=True, allow_null=True, default="")


class Taken(serializers.Serializer[Any]):
    operation_id = serializers.UUIDField()
    status = serializers.CharField(help_text="How the operation ended.")
    effect = serializers.BooleanField(help_text="False: it had ended before this answer came.")


class CompleteOperation(APIView):
    """Takes the result from an outside service, which proves itself by the site's key or the operation's secret."""

    authentication_classes = ()
    permission_classes = ()
    throttle_classes = ()

    @extend_schema(summary="Complete an operation", request=Answer, responses=Taken, auth=[])
    def post(self, request: Request, operation_id: uuid.UUID) -> Response:
        """Complete an operation. Delivered again, it answers 200 and changes nothing."""
        authorise(operation_id, raw_body(request), request)
        form = Answer(data=request.data)
        form.is_valid(raise_exception=True)
        answer = form.validated_data
        try:
            taken = complete(
                operation_id=operation_id,
                success=answer["success"],
                result=answer["result"],
                error=answer["error"] or "",
                by="webhook",
            )
        except UnknownOperation:
            raise Http404 from None
        return Response(
            {"operation_id": taken.operation.pk, "status": taken.operation.status, "effect": taken.effect}
        )


def raw_body(request: Request) -> bytes:
    """Return the body as it was sent; raises CompletionTooLarge before reading it."""
    length = request.headers.get("Content-Length") or "0"
    if not length.isdigit() or int(length) > limits.MAX_COMPLETION_BYTES:
        raise CompletionTooLarge
    body: bytes = request._request.body
    return body


def authorise(operation_id: uuid.UUID, body: bytes, request: Request) -> None:
    """Check the site's key or the operation's signature; raises NotAuthorised or NoKeyConfigured."""
    key = request.headers.get("X-API-Key")
    if key is not None and settings.INTERNAL_API_KEY:
        if hmac.compare_digest(key.encode(), settings.INTERNAL_API_KEY.encode()):
            return
        raise NotAuthorised
    if "webhook-signature" in request.headers:
        if secrets.is_signed(operation_id, body, dict(request.headers)):
            return
        raise NotAuthorised
    raise NotAuthorised if settings.INTERNAL_API_KEY else NoKeyConfigured
