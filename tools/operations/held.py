"""Operations that wait, without a worker, for a person or for an outside service that is asked how far it is."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

from blocks.ports import ReviewQuestion
from durable.database import after_commit
from durable.ids import new_id
from executions.models import Review
from executions.reviews.questions import ReviewContext, ask_once
from tools import limits
from tools.base import PersonAnswer, Tool
from tools.context import ToolContext
from tools.errors import GoesOnElsewhere
from tools.models import Operation
from tools.operations.lifecycle import notify_changed
from tools.operations.start import STARTED, STARTED_TYPE, OperationStart, about, fingerprint_of, nothing

REVIEWS = uuid.UUID("0d1c5a0f-3b6e-4a55-9a3e-0b5f5d7a1c62")  # namespace of the ids of such reviews
ASKED = (
    "The question is shown to the user: tell them, and end your answer; you are called again with the result."
)
State = Review.State


def hold(
    tool: Tool, arguments: dict[str, Any], context: ToolContext, question: ReviewQuestion
) -> OperationStart:
    """Return an operation that runs the call once a person has approved it, and says so if they do not."""
    operation = new_operation(tool, arguments, context)
    operation.message = f"{tool.name} waits for your approval."
    key = f"call:{context.key}"
    operation.review_id = review_id_for(key)
    answer = {
        "type": "review_required",
        "message": f"{tool.name} needs your approval first.",
        "next_step": ASKED,
        "review_id": str(operation.review_id),
        "tool_name": tool.name,
        "outside_sources": list(question.outside_sources),
        "session_id": str(context.session_id),
        "operation_id": str(operation.pk),
    }
    return OperationStart(
        answer=answer,
        save=lambda: save_asking(operation, question, key, limits.MAX_APPROVAL_SECONDS),
        after_commit=nothing,
    )


def follow(
    tool: Tool, arguments: dict[str, Any], context: ToolContext, elsewhere: GoesOnElsewhere
) -> OperationStart:
    """Return the operation for work that a call has begun elsewhere; it is stored with the call's result."""
    operation = new_operation(tool, arguments, context)
    operation.handle, operation.external = elsewhere.handle, True
    operation.message = elsewhere.message
    if elsewhere.question is None:
        operation.run_at = Operation.clock.after(elsewhere.seconds)
        return OperationStart(
            answer=about(operation, STARTED_TYPE, f"{tool.name} goes on in the background.", STARTED),
            save=lambda: save(operation),
            after_commit=nothing,
        )
    question, key = elsewhere.question, question_key(operation, elsewhere.handle)
    operation.review_id = review_id_for(key)
    asked = about(operation, "review_required", question.name, ASKED) | {
        "review_id": str(operation.review_id)
    }
    return OperationStart(
        answer=asked,
        save=lambda: save_asking(operation, question, key, limits.MAX_APPROVAL_SECONDS),
        after_commit=nothing,
    )


def new_operation(tool: Tool, arguments: dict[str, Any], context: ToolContext) -> Operation:
    return Operation(
        id=new_id(),
        status=Operation.WAITING,
        key=context.key,
        session_id=context.session_id,
        turn_id=context.turn_id,
        step=context.step,
        user_id=context.user_id,
        call_id=context.call_id,
        tool_name=tool.name,
        arguments=arguments,
        fingerprint=fingerprint_of(arguments),
        permissions=context.permissions.as_json(),
        outside_sources=list(context.outside_sources),
    )


def save(operation: Operation) -> None:
    operation.save(force_insert=True)
    after_commit(notify_changed, operation)


def save_asking(operation: Operation, question: ReviewQuestion, key: str, seconds: float) -> None:
    """Store the operation and its question in one transaction, so that no decision comes before the operation."""
    operation.run_at = Operation.clock.after(seconds + 60)  # the question ends first, and ends the wait
    save(operation)
    ask(operation, question, key, seconds)


def ask(operation: Operation, question: ReviewQuestion, key: str, seconds: float) -> Review:
    """Ask the question of an operation, once per key, inside the transaction that lets the operation wait."""
    assert operation.user_id is not None, "visitors are asked nothing"
    asker = ReviewContext(
        user_id=operation.user_id,
        session_id=operation.session_id,
        tool_name="" if operation.handle else operation.tool_name,
        expires_in=timedelta(seconds=seconds),
    )
    return ask_once(asker, question, key, review_id=review_id_for(key))


def review_id_for(key: str) -> uuid.UUID:
    return uuid.uuid5(REVIEWS, key)


def question_key(operation: Operation, handle: dict[str, Any]) -> str:
    """Return the key of a question about the work: one per round."""
    return f"input:{operation.key}:{handle.get('round', 0)}"


def answer_to(operation: Operation) -> PersonAnswer | None:
    """Return what a person has decided about the operation; None while they have not, or nobody is asked."""
    review = Review.objects.filter(pk=operation.review_id).first() if operation.review_id else None
    if review is None or review.state == State.WAITING:
        return None
    return PersonAnswer(
        approved=review.state == State.APPROVED, data=review.decided_data, message=review.message
    )
