"""/api/memory: what the copilot remembers about the person, to read, change and delete."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from pydantic import ValidationError as BadFacts
from rest_framework import serializers, status
from rest_framework.exceptions import ValidationError
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.authentication import current_user
from chat.api.view import ChatView
from durable import storable
from tools.catalog.add_understanding import Args
from tools.models import Understanding

TOPICS = list(Args.model_fields)


class MemoryShape(serializers.Serializer[Any]):
    """Facts by topic; each has its `fact`, a text or a list of texts, and its `source`."""

    topics = serializers.ListField(child=serializers.CharField(), help_text="All topics there can be.")
    facts = serializers.DictField(child=serializers.DictField())


class RememberedFacts(ChatView):
    """What the copilot remembers."""

    permission_classes = [IsAuthenticated]

    @extend_schema(summary="Get what is remembered", responses=MemoryShape)
    def get(self, request: Request) -> Response:
        """Return the facts about you that all your conversations are given."""
        return Response(shape(current_user(request).pk))

    @extend_schema(summary="Change what is remembered", request=OpenApiTypes.OBJECT, responses=MemoryShape)
    def patch(self, request: Request) -> Response:
        """Replace the facts of some topics; null forgets a topic."""
        user = current_user(request)
        Understanding.replace(user.pk, read_facts(request.data))
        return Response(shape(user.pk))

    @extend_schema(summary="Forget everything", responses={204: None})
    def delete(self, request: Request) -> Response:
        """Forget all facts about you."""
        Understanding.objects.filter(user=current_user(request)).delete()
        return Response(status=status.HTTP_204_NO_CONTENT)


def shape(user_id: int) -> dict[str, Any]:
    return {"topics": TOPICS, "facts": Understanding.with_sources(user_id)}


def read_facts(data: Any) -> dict[str, Any]:
    """Validate facts as the tool does that remembers them; raise with the field that is wrong."""
    if not isinstance(data, dict) or not data or not all(isinstance(topic, str) for topic in data):
        raise ValidationError("Send the topics to change, each with its fact or null.")
    given = {topic: fact for topic, fact in data.items() if fact is not None}
    try:
        facts = Args.model_validate(given).model_dump(exclude_none=True) if given else {}
        kept: dict[str, Any] = storable.json_value(facts)
    except BadFacts as error:
        raise ValidationError(
            {str(one["loc"][0] if one["loc"] else "facts"): [one["msg"]] for one in error.errors()}
        ) from None
    except ValueError as error:
        raise ValidationError(str(error)) from None
    if unknown := sorted(set(data) - set(TOPICS)):
        raise ValidationError({topic: ["There is no such topic."] for topic in unknown})
    return dict(data) | kept
