"""Reviews as tools find them: the user's own."""

from __future__ import annotations

import uuid
from typing import Any

from executions.models import Review
from tools.context import ToolContext
from tools.errors import ToolError


def review_asked(result: Any) -> str | None:
    """The review a person must decide before what a call began goes on; the first where there are several."""
    if not isinstance(result, dict):
        return None
    if result.get("type") == "review_required":
        return str(result["review_id"])
    waiting = result.get("reviews") or (result.get("execution") or {}).get("reviews")
    return str(waiting[0]["review_id"]) if waiting else None


def find_review(review_id: str, context: ToolContext) -> Review:
    try:
        found = Review.objects.filter(pk=uuid.UUID(review_id), user=context.user).first()
    except ValueError:
        found = None
    if found is None:
        raise ToolError(f"There is no review {review_id!r}.", code="not_found")
    return found
