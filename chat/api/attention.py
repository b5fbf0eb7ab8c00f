"""/api/attention: how much waits for the person, for badges."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from chat import limits
from chat.api.sessions import needs_you
from chat.api.view import ChatView
from chat.models import Session
from chat.sessions import is_unread
from executions.models import Review


class AttentionShape(serializers.Serializer[None]):
    """Counts over the conversations that were active last."""

    unread = serializers.IntegerField(help_text="Conversations with an answer that was not seen.")
    questions = serializers.IntegerField(help_text="Conversations that wait for an answer of the person.")
    reviews = serializers.IntegerField(help_text="Reviews that wait for a decision.")


class Attention(ChatView):
    """What waits for the person."""

    @extend_schema(summary="Count what waits for you", responses=AttentionShape)
    def get(self, request: Request) -> Response:
        """Count unread conversations, open questions and waiting reviews."""
        own = self.owner.sessions().filter(expires_at=None).order_by("-active_at")
        recent = Session.objects.filter(
            pk__in=list(own.values_list("pk", flat=True)[: limits.ATTENTION_SESSIONS])
        )
        reviews = (
            Review.objects.filter(user=self.owner.user, state=Review.State.WAITING)
            if self.owner.user
            else None
        )
        return Response(
            {
                "unread": recent.filter(is_unread()).count(),
                "questions": recent.filter(needs_you()).count(),
                "reviews": reviews.count() if reviews is not None else 0,
            }
        )
