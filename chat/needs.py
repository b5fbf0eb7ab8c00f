"""Which conversations wait for their person: something was asked that only a person can give."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery

from chat.models import Turn
from executions.models import Review
from tools.models import Operation, ToolCall

ASKING = (
    "clarification_needed",
    "review_required",
    "setup_requirements",
    "suggested_goal",
    "task_decomposition",
)


def needs_you() -> Q:
    """A condition on sessions. A later message answers the question, whatever it says; a review must be decided."""
    of_session = Turn.objects.filter(session=OuterRef(OuterRef("pk")), superseded_at=None)
    said = of_session.filter(kind=Turn.Kind.MESSAGE)
    since = Q(turn_id=newest(said)) | Q(turn_id=newest(of_session))
    asked = ToolCall.objects.filter(since, result__type__in=ASKING)
    came_back_asking = Operation.objects.filter(
        session_id=OuterRef("pk"),
        status=Operation.COMPLETED,
        turn_id=newest(said),
        result__type__in=ASKING,
    )
    waiting = Review.objects.filter(user=OuterRef("user"), state=Review.State.WAITING)
    reviews = waiting.filter(Q(session_id=OuterRef("pk")) | Q(execution__session_id=OuterRef("pk")))
    return Q(Exists(asked)) | Q(Exists(came_back_asking)) | Q(Exists(reviews))


def newest(turns: QuerySet[Turn]) -> Subquery:
    return Subquery(turns.order_by("-queued_at").values("pk")[:1])
