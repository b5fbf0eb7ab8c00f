"""/api/reviews: what a person is asked, and their answers."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import generics, serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.authentication import current_user
from accounts.api.throttling import WriteRate
from executions import limits
from executions.models import Review
from executions.reviews.decisions import UNCHANGED, decide


class ReviewSerializer(serializers.ModelSerializer[Review]):
    """A question to a person."""

    agent_id = serializers.UUIDField(source="execution.agent_id", default=None, allow_null=True)
    agent_name = serializers.CharField(source="execution.agent.name", default=None, allow_null=True)
    node_execution_id = serializers.UUIDField(source="node_id", allow_null=True)
    node_id = serializers.CharField(
        source="node.node_id", default=None, allow_null=True, help_text="The node of the agent."
    )
    data: Any = serializers.JSONField()
    outside_sources = serializers.ListField(
        child=serializers.CharField(), help_text="The content from outside because of which it is asked."
    )
    decided_data = serializers.JSONField(allow_null=True)
    decided_by = serializers.CharField(source="decided_by.username", default=None, allow_null=True)

    class Meta:
        model = Review
        fields = [
            "id",
            "name",
            "data",
            "editable",
            "outside_sources",
            "state",
            "execution_id",
            "agent_id",
            "agent_name",
            "node_execution_id",
            "node_id",
            "block_id",
            "session_id",
            "asked_at",
            "expires_at",
            "decided_at",
            "decided_by",
            "decided_data",
            "message",
        ]
        read_only_fields = fields


class Decision(serializers.Serializer[Any]):
    approved = serializers.BooleanField()
    data = serializers.JSONField(  # type: ignore[assignment]
        required=False, help_text="What is to be used instead, where it is editable."
    )
    message = serializers.CharField(
        required=False, allow_blank=True, default="", max_length=limits.MAX_REVIEW_MESSAGE_CHARACTERS
    )


class OwnReviews(generics.GenericAPIView[Review]):
    """What the person asking is asked, nobody else."""

    queryset = Review.objects.none()
    serializer_class = ReviewSerializer
    throttle_classes = [WriteRate]

    def get_queryset(self) -> QuerySet[Review]:
        rows = Review.objects.filter(user=current_user(self.request)).order_by("-asked_at")
        return rows.select_related("execution__agent", "node", "decided_by")


class Reviews(OwnReviews, generics.ListAPIView[Review]):
    """The newest first."""

    @extend_schema(
        summary="List reviews",
        parameters=[
            OpenApiParameter("state", OpenApiTypes.STR, enum=Review.State.values),
            OpenApiParameter("execution", OpenApiTypes.UUID, description="Only those of this execution."),
        ],
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """What was asked; `?state=waiting` for what still is."""
        return super().get(request, *args, **kwargs)

    def get_queryset(self) -> QuerySet[Review]:
        rows, asked = super().get_queryset(), self.request.query_params
        if state := asked.get("state"):
            if state not in Review.State.values:
                raise ValidationError({"state": [f"Use one of {', '.join(Review.State.values)}."]})
            rows = rows.filter(state=state)
        if execution := asked.get("execution"):
            rows = rows.filter(execution_id=execution)
        return rows


@extend_schema_view(
    get=extend_schema(
        summary="Get a review", description="One review: what is asked, and how it was decided."
    )
)
class OneReview(OwnReviews, generics.RetrieveAPIView[Review]):
    """One question."""


class Decide(OwnReviews):
    """Answering it."""

    @extend_schema(summary="Approve or reject a review", request=Decision, responses=ReviewSerializer)
    def post(self, request: Request, **kwargs: Any) -> Response:
        """Approve or reject; what waits for it goes on at once. The second answer is refused with 409."""
        review = self.get_object()
        form = Decision(data=request.data)
        form.is_valid(raise_exception=True)
        said = form.validated_data
        decided = decide(
            review,
            approved=said["approved"],
            data=said.get("data", UNCHANGED),
            message=said["message"],
            by=current_user(request),
        )
        return Response(self.get_serializer(decided).data)
