"""/api/hooks/{token}: the endpoint other systems call. The token authenticates: no login, cookie or CSRF token."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from executions import limits
from executions.errors import CallTooLarge
from executions.triggers.receive import HookRequest, receive


class CallAnswer(serializers.Serializer[Any]):
    delivery_id = serializers.UUIDField(source="pk")
    state = serializers.CharField(help_text="stored, started or failed.")
    execution_id = serializers.UUIDField(allow_null=True)


class AnyCaller(BaseContentNegotiation):
    """Accept any content type and answer JSON, whatever the caller's Accept header says."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        return None

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        return JSONRenderer(), JSONRenderer.media_type


class Hook(APIView):
    """The endpoint of one trigger."""

    authentication_classes = ()
    permission_classes = ()
    throttle_classes = ()  # calls are counted per trigger
    content_negotiation_class = AnyCaller

    @extend_schema(
        summary="Call a trigger",
        request=OpenApiTypes.OBJECT,
        responses={200: CallAnswer, 202: CallAnswer},
        auth=[],
    )
    def post(self, request: Request, token: str) -> Response:
        """Store the call, then start the agent: 202. A repeated delivery id: 200, without effect."""
        headers = {name.lower(): value for name, value in request.headers.items()}
        taken = receive(token, HookRequest(body=raw_body(request), headers=headers))
        code = status.HTTP_202_ACCEPTED if taken.created else status.HTTP_200_OK
        return Response(CallAnswer(taken.delivery).data, status=code)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Response:
        """Keep Django from logging the path of refused calls, because it contains the token."""
        answer = super().finalize_response(request, response, *args, **kwargs)
        answer._has_been_logged = True  # type: ignore[attr-defined]
        return answer


def raw_body(request: Request) -> bytes:
    """Return the body as sent; too long a body is refused before it is read."""
    length = request.headers.get("Content-Length") or "0"
    if not length.isdigit() or int(length) > limits.MAX_HOOK_BYTES:
        raise CallTooLarge
    body: bytes = request._request.body
    return body
