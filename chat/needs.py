"""Which conversations wait for their person: the newest turn ended with something only a person can give."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q, Subquery

from chat.models import Turn
from tools.models import ToolCall

ASKING = (
    "clarification_needed",
    "review_required",
    "setup_requirements",
    "suggested_goal",
    "task_decomposition",
)


def needs_you() -> Q:
    """A condition on sessions. A later message answers the question, whatever it says."""
    newest = Turn.objects.filter(session=OuterRef(OuterRef("pk")), superseded_at=None).order_by("-queued_at")
    asked = ToolCall.objects.filter(turn_id=Subquery(newest.values("pk")[:1]), result__type__in=ASKING)
    return Q(Exists(asked))
