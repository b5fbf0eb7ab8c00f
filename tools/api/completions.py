"""/api/operations/{id}/complete: an outside service answers for the work it accepted."""

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

from durable import limits
from tools.api.errors import NoKeyConfigured, NotAuthorised, TooLarge
from tools.errors import UnknownOperation
from tools.operations import secrets
from tools.operations.completing import complete


class Answer(serializers.Serializer[Any]):
    success = serializers.BooleanField()
    result = serializers.JSONField(required=False, allow_null=True, default=None)
    error = serializers.CharField(required=False, allow_blank=True, allow_null=True, default="")


class Taken(serializers.Serializer[Any]):
    operation_id = serializers.UUIDField()
    status = serializers.CharField(help_text="How the operation ended.")
    effect = serializers.BooleanField(help_text="False: it had ended before this answer came.")


class CompleteOperation(APIView):
    """Open to whoever holds the site's key or the operation's own secret; no login, no cookie."""

    authentication_classes = ()
    permission_classes = ()
    throttle_classes = ()

    @extend_schema(request=Answer, responses=Taken, auth=[])
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
    """The bytes as they were sent; refused by their length before they are read."""
    length = request.headers.get("Content-Length") or "0"
    if not length.isdigit() or int(length) > limits.MAX_COMPLETION_BYTES:
        raise TooLarge
    body: bytes = request._request.body
    return body


def authorise(operation_id: uuid.UUID, body: bytes, request: Request) -> None:
    """The site's key, or a signature; both are compared in constant time."""
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
