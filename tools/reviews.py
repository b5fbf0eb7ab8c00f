"""Reviews as tools find them: the user's own."""

from __future__ import annotations

import uuid

from executions.models import Review
from tools.context import ToolContext
from tools.errors import ToolError


def find_review(review_id: str, context: ToolContext) -> Review:
    try:
        found = Review.objects.filter(pk=uuid.UUID(review_id), user=context.user).first()
    except ValueError:
        found = None
    if found is None:
        raise ToolError(f"There is no review {review_id!r}.", code="not_found")
    return found
