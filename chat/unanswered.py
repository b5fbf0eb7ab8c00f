"""Turns that failed, and whose conversation has had no answer since: what an operator may still have to see to."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, QuerySet

from chat.models import Turn


def unanswered(turns: QuerySet[Turn]) -> QuerySet[Turn]:
    """Requeued, retried or asked again with success, a failure is history."""
    later = Turn.objects.filter(
        session=OuterRef("session"), status=Turn.COMPLETED, queued_at__gt=OuterRef("queued_at")
    )
    return turns.filter(~Exists(later), status=Turn.FAILED)
