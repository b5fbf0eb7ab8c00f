"""Answers of AI SDK clients to `tool-approval-request`: each decides a review, and the model goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import Http404

from chat import turns
from chat.models import Session
from chat.owners import Owner
from chat.sessions import UUID_FORM
from chat.turns import Input, Submitted
from durable import limits
from executions.models import Review
from executions.reviews import deciding


@dataclass(frozen=True, kw_only=True)
class Approval:
    """What a person answered."""

    review_id: str
    approved: bool
    reason: str

    @property
    def words(self) -> str:
        said = "I approved it. Go on." if self.approved else "I rejected it."
        return f"{said} {self.reason}".strip()


def answers_in(parts: Sequence[dict[str, Any]]) -> list[Approval]:
    given = [part.get("approval") for part in parts if part.get("state") == "approval-responded"]
    return [
        Approval(
            review_id=str(answer.get("id")),
            approved=answer.get("approved") is True,
            reason=str(answer.get("reason") or "")[: limits.MAX_REVIEW_MESSAGE_CHARACTERS],
        )
        for answer in given
        if isinstance(answer, dict)
    ]


def decide(owner: Owner, session: Session, answers: Sequence[Approval]) -> Submitted:
    """Decide what still waits of them, and have the model go on. Once: the turn has the name of its review."""
    ids = {answer.review_id for answer in answers}
    mine = Review.objects.filter(user=owner.user, pk__in=filter(UUID_FORM.fullmatch, ids))
    reviews = {str(review.pk): review for review in mine}
    if owner.user is None or reviews.keys() != ids:
        raise Http404
    fresh = [answer for answer in answers if reviews[answer.review_id].state == Review.State.WAITING]
    for answer in fresh:
        review = reviews[answer.review_id]
        deciding.decide(review, approved=answer.approved, message=answer.reason, by=owner.user)
    newest = (fresh or answers)[-1]
    return turns.submit(session, Input(text=newest.words, client_id=f"approval:{newest.review_id}"))
