"""/api/follow-ups: what the copilot will do later; list and cancel."""

from __future__ import annotations

import uuid

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api.authentication import current_user
from tools.follow_up_actions import cancel
from tools.models import FollowUp


class FollowUpShape(serializers.ModelSerializer[FollowUp]):
    """A turn at a later time."""

    new_session = serializers.BooleanField(source="fresh", help_text="Each time in a new conversation.")

    class Meta:
        model = FollowUp
        fields = [
            "id",
            "session_id",
            "prompt",
            "new_session",
            "cron",
            "timezone",
            "next_run_at",
            "last_run_at",
        ]
        fields += ["last_session_id", "last_error", "created_at"]
        read_only_fields = fields


class FollowUps(APIView):
    """The user's follow-ups."""

    @extend_schema(summary="List follow-ups", responses=FollowUpShape(many=True))
    def get(self, request: Request) -> Response:
        """List those still to come, the next one first."""
        rows = FollowUp.objects.filter(user=current_user(request)).exclude(next_run_at=None)
        return Response(FollowUpShape(rows.order_by("next_run_at"), many=True).data)


class OneFollowUp(APIView):
    """One follow-up."""

    def followup(self, request: Request, pk: uuid.UUID) -> FollowUp:
        found = FollowUp.objects.filter(pk=pk, user=current_user(request)).first()
        if found is None:
            raise Http404
        return found

    @extend_schema(summary="Get a follow-up", responses=FollowUpShape)
    def get(self, request: Request, pk: uuid.UUID) -> Response:
        """Return it, also when it is over: then `next_run_at` is null."""
        return Response(FollowUpShape(self.followup(request, pk)).data)

    @extend_schema(summary="Cancel a follow-up", responses={204: None})
    def delete(self, request: Request, pk: uuid.UUID) -> Response:
        """Cancel it. Repeating it changes nothing."""
        cancel(self.followup(request, pk))
        return Response(status=status.HTTP_204_NO_CONTENT)
