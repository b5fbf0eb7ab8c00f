"""/api/search: find words in one's conversations."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from chat import search
from chat.api.view import ChatView
from durable import storable
from executions import limits as executions_limits

WORDS = OpenApiParameter("words", str, required=True, description="What to look for, as it is written.")


class MessageHitShape(serializers.Serializer[Any]):
    """A message that contains the words; without `message_id`, a title."""

    session_id = serializers.UUIDField(source="session.pk")
    title = serializers.CharField(source="session.title")
    message_id = serializers.UUIDField(allow_null=True)
    role = serializers.CharField(help_text="user or assistant; empty for a title.")
    snippet = serializers.CharField()
    at = serializers.DateTimeField()


class Search(ChatView):
    """Search in conversations."""

    @extend_schema(
        operation_id="search",
        summary="Search conversations",
        parameters=[WORDS],
        responses=MessageHitShape(many=True),
    )
    def get(self, request: Request) -> Response:
        """Find words in titles, in what you wrote and in what was answered."""
        words = request.query_params.get("words", "")[: executions_limits.MAX_SEARCH_CHARACTERS].strip()
        if not words or not storable.is_text(words):
            raise ValidationError({"words": ["Write what to look for."]})
        return Response(MessageHitShape(search.search(self.owner, words), many=True).data)
