"""Reviews as elicitation: what a person has to decide, as forms that a client shows, and their answers."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import QuerySet

from chat.models import Turn
from doors.callers import Caller
from doors.mcp import limits
from doors.mcp.errors import BadParams
from durable import storable
from durable.event_log import encode
from executions.errors import AlreadyDecided, NotEditable
from executions.limits import MAX_AGENT_DEPTH
from executions.models import Execution, Review
from executions.reviews.decisions import UNCHANGED, decide

PREFIX = "review-"
ACCEPT = "accept"
DECLINE = "decline"
MAX_MESSAGE_CHARACTERS = 2_000


def open_reviews(row: Turn | Execution) -> list[Review]:
    """Return what a person has to decide before the row goes on, oldest first; of sub-agents too."""
    waiting = reviews_of(row).filter(state=Review.State.WAITING)
    return list(waiting.order_by("asked_at")[: limits.MAX_ASKED_REVIEWS])


def reviews_of(row: Turn | Execution) -> QuerySet[Review]:
    mine = Review.objects.filter(user=row.user)
    if isinstance(row, Turn):
        return mine.filter(session_id=row.session_id, execution=None, asked_at__gte=row.queued_at)
    return mine.filter(execution_id__in=family(row))


def family(execution: Execution) -> list[uuid.UUID]:
    """Return the ids of an execution and of the live executions that it has started."""
    found = [execution.pk]
    newest = [execution.pk]
    for _ in range(MAX_AGENT_DEPTH):
        newest = list(Execution.live().filter(parent__execution_id__in=newest).values_list("pk", flat=True))
        if not newest:
            break
        found += newest
    return found


def requests_for(reviews: Sequence[Review]) -> dict[str, Any]:
    """Return the questions by key; the key of a review is never used for another one."""
    return {f"{PREFIX}{review.pk.hex}": request_for(review) for review in reviews}


def request_for(review: Review) -> dict[str, Any]:
    """Return the form of one review: approve or not, a message, and the data where it may be changed."""
    data = review.data if isinstance(review.data, str) else encode(review.data)
    properties: dict[str, Any] = {
        "approved": {"type": "boolean", "title": "Approve", "description": "Whether it may go on."},
        "message": {"type": "string", "title": "Message", "description": "For the agent; may be empty."},
    }
    if review.editable and isinstance(review.data, str):
        field = {"type": "string", "title": "Data", "description": "Change it where it is wrong."}
        properties["data"] = field | {"default": data}
    shown = "" if review.data is None else f"\n\n{data[: limits.MAX_REVIEW_DATA_CHARACTERS]}"
    form = {"type": "object", "properties": properties, "required": ["approved"]}
    params = {"mode": "form", "message": f"{review.name}{shown}", "requestedSchema": form}
    return {"method": "elicitation/create", "params": params}


def answer_all(caller: Caller, row: Turn | Execution, answers: Mapping[str, Any]) -> None:
    """Decide the reviews that these answers belong to; answers to others, and second ones, are ignored."""
    if len(answers) > limits.MAX_INPUT_RESPONSES:
        raise BadParams(f"At most {limits.MAX_INPUT_RESPONSES} answers can be sent at once.")
    waiting = {f"{PREFIX}{review.pk.hex}": review for review in open_reviews(row)}
    decisions = [(waiting[key], read(key, answers[key])) for key in answers if key in waiting]
    for review, decision in decisions:
        if decision is not None:
            write(caller, review, decision)


def read(key: str, answer: Any) -> Mapping[str, Any] | None:
    """Return a decision; None if the person has dismissed the form. Raise BadParams for a malformed answer."""
    said = answer if isinstance(answer, dict) else {}
    action, content = said.get("action"), said.get("content") or {}
    if action == DECLINE:
        return {"approved": False}
    if action != ACCEPT:
        if action == "cancel":
            return None
        raise BadParams(f"The answer to `{key}` must have an `action`: accept, decline or cancel.")
    # Forms of other programs may call it `confirm`; a form that was accepted without a word is an approval.
    if not isinstance(content, dict):
        raise BadParams(f"The `content` of the answer to `{key}` must be an object.")
    approved = content.get("approved", content.get("confirm", True))
    if not isinstance(approved, bool):
        raise BadParams(f"The answer to `{key}` must say `approved`: true or false.")
    message, data = content.get("message", ""), content.get("data")
    if not isinstance(message, str) or not isinstance(data, str | None):
        raise BadParams(f"`message` and `data` of the answer to `{key}` must be texts.")
    return {"approved": approved, "message": message, "data": data}


def write(caller: Caller, review: Review, decision: Mapping[str, Any]) -> None:
    """Decide one review; a decision that was made elsewhere meanwhile stands."""
    data = decision.get("data")
    changed = data is not None and review.editable and isinstance(review.data, str)
    try:
        decide(
            review,
            approved=decision["approved"],
            data=storable.text(str(data)) if changed else UNCHANGED,
            message=storable.text(decision.get("message", ""), most=MAX_MESSAGE_CHARACTERS),
            by=caller.user,
        )
    except (AlreadyDecided, NotEditable):
        return
