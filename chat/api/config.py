"""/api/config: settings and limits that clients need."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.middleware.csrf import get_token
from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.visitors import plain
from chat import limits
from chat.api.view import ChatView
from durable import limits as durable_limits
from executions import limits as executions_limits
from llm.endpoint_rows import refresh_if_old
from llm.endpoints import configured_model, model_info
from llm.errors import BadModelRequest
from tools import limits as tools_limits
from workspace import limits as workspace_limits

CAPS = inline_serializer(
    "Caps",
    {
        name: serializers.IntegerField()
        for name in (
            "message_characters",
            "title_characters",
            "attachments",
            "file_bytes",
            "frame_bytes",
            "page_size",
            "running_turns",
            "in_flight_turns",
            "tool_wait_seconds",
        )
    },
)
ANSWER = inline_serializer(
    "Config",
    {
        "stream_ttl_seconds": serializers.IntegerField(),
        "keep_alive_seconds": serializers.FloatField(),
        "model": serializers.CharField(allow_blank=True, help_text="Empty when the model server decides."),
        "sees_images": serializers.BooleanField(),
        "allow_anonymous": serializers.BooleanField(),
        "allow_signup": serializers.BooleanField(),
        "limits": CAPS,
    },
)


class Config(ChatView):
    """Settings for clients."""

    @extend_schema(summary="Get the site's configuration", responses=ANSWER)
    def get(self, request: Request) -> Response:
        """Return limits, times and the model. Sets a CSRF cookie, whose token the next request can send."""
        get_token(plain(request))
        refresh_if_old()
        name = model_name()
        return Response(
            {
                "stream_ttl_seconds": settings.COPILOT_STREAM_TTL_SECONDS,
                "keep_alive_seconds": durable_limits.KEEP_ALIVE_SECONDS,
                "model": name,
                "sees_images": model_info(name).sees_images,
                "allow_anonymous": settings.COPILOT_ALLOW_ANONYMOUS,
                "allow_signup": settings.COPILOT_ALLOW_SIGNUP,
                "limits": caps(),
            }
        )


def model_name() -> str:
    try:
        return configured_model()
    except BadModelRequest:
        return ""


def caps() -> dict[str, Any]:
    return {
        "message_characters": tools_limits.MAX_MESSAGE_CHARACTERS,
        "title_characters": limits.MAX_TITLE_CHARACTERS,
        "attachments": limits.MAX_ATTACHMENTS,
        "file_bytes": workspace_limits.MAX_FILE_BYTES,
        "frame_bytes": limits.MAX_FRAME_BYTES,
        "page_size": limits.MAX_PAGE_SIZE,
        "running_turns": settings.COPILOT_MAX_RUNNING_TURNS_PER_USER,
        "in_flight_turns": settings.COPILOT_MAX_IN_FLIGHT_TURNS_PER_USER,
        "tool_wait_seconds": int(executions_limits.MAX_TOOL_WAIT_SECONDS),
    }
