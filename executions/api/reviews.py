"""/api/reviews: list reviews, approve and reject them."""

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
    """A question that waits for a person's decision, or is decided."""

    agent_id = serializers.UUIDField(source="execution.agent_id", default=None, allow_null=True)
    agent_name = serializers.CharField(source="execution.agent.name", default=None, allow_null=True)
    node_execution_id = serializers.UUIDField(source="node_id", allow_null=True)
    node_id = serializers.CharField(
        source="node.node_id", default=None, allow_null=True, help_text="The node of the agent."
    )
    data: Any = serializers.JSONField()
    outside_sources = serializers.ListField(
        child=serializers.CharField(), help_text="The outside content that made the review necessary."
    )
    answer_schema = serializers.JSONField(
        allow_null=True, help_text="JSON Schema of the data that is asked for, if there is one."
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
            "tool_name",
            "answer_schema",
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
            "remember",
        ]
        read_only_fields = fields


class Decision(serializers.Serializer[Any]):
    approved = serializers.BooleanField()
    data = serializers.JSONField(  # type: ignore[assignment]
        required=False, help_text="Data to use instead, if the review is editable."
    )
    message = serializers.CharField(
        required=False, allow_blank=True, default="", max_length=limits.MAX_REVIEW_MESSAGE_CHARACTERS
    )
    remember = serializers.ChoiceField(
        required=False,
        default="",
        choices=Review.Remember.choices,
        help_text="For a call of a tool: decide the same for the rest of the conversation, or always.",
    )


class OwnReviews(generics.GenericAPIView[Review]):
    """Base of views on the user's own reviews."""

    queryset = Review.objects.none()
    serializer_class = ReviewSerializer
    throttle_classes = [WriteRate]

    def get_queryset(self) -> QuerySet[Review]:
        rows = Review.objects.filter(user=current_user(self.request)).order_by("-asked_at")
        return rows.select_related("execution__agent", "node", "decided_by")


class Reviews(OwnReviews, generics.ListAPIView[Review]):
    """List reviews, newest first."""

    @extend_schema(
        summary="List reviews",
        parameters=[
            OpenApiParameter("state", OpenApiTypes.STR, enum=Review.State.values),
            OpenApiParameter("execution", OpenApiTypes.UUID, description="Only reviews of this execution."),
        ],
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List your reviews, newest first; `?state=waiting` for the undecided ones."""
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
    get=extend_schema(summary="Get a review", description="One review with its data and decision.")
)
class OneReview(OwnReviews, generics.RetrieveAPIView[Review]):
    """One review."""


class Decide(OwnReviews):
    """Approve or reject a review."""

    @extend_schema(summary="Approve or reject a review", request=Decision, responses=ReviewSerializer)
    def post(self, request: Request, **kwargs: Any) -> Response:
        """Approve or reject a review; what waits for it continues at once. A second decision is refused with 409."""
        review = self.get_object()
        form = Decision(data=request.data)
        form.is_valid(raise_exception=True)
        said = form.validated_data
        decided = decide(
            review,
            approved=said["approved"],
            data=said.get("data", UNCHANGED),
            message=said["message"],
            remember=said["remember"],
            by=current_user(request),
        )
        return Response(self.get_serializer(decided).data)
