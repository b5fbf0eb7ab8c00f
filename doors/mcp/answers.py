"""Answers of older clients to requests of ours, and results of their tasks."""

from __future__ import annotations

import uuid

from chat.models import Turn
from doors.callers import Caller
from doors.mcp import limits, questions, rows
from doors.mcp.call_streams import ASKED
from doors.mcp.errors import BadParams
from doors.mcp.exchange import Exchange
from doors.mcp.messages import RpcAnswer
from durable import mailbox
from durable.event_log import encode
from executions.models import Execution, Review


def take(caller: Caller, message: RpcAnswer) -> None:
    """Decide the review, or pass the answer on, that a client was asked for on the stream of a call.

    An answer to anything else is ignored; boxes have random names, so that nobody answers another's question.
    """
    name = str(message.id)
    if name.startswith(ASKED):
        pass_on(name.removeprefix(ASKED), message)
    if message.result is None or not name.startswith(questions.PREFIX):
        return
    try:
        review_id = uuid.UUID(hex=name.removeprefix(questions.PREFIX))
    except ValueError:
        return
    review = Review.objects.filter(user=caller.user, pk=review_id, state=Review.State.WAITING).first()
    if review is None or not may_decide(caller, review):
        return
    decision = questions.read(name, message.result)
    if decision is not None:
        questions.write(caller, review, decision)


def pass_on(box: str, message: RpcAnswer) -> None:
    """Put an answer where the stream waits that has asked; one that failed is passed on as dismissed."""
    try:
        place = uuid.UUID(hex=box)
    except ValueError:
        return
    text = encode(message.result if message.result is not None else {"action": "cancel"})
    mailbox.put(place, text, seconds=limits.CLIENT_ANSWER_SECONDS)


def may_decide(caller: Caller, review: Review) -> bool:
    """Return whether a key with limits may decide a review: only of what was started with it."""
    if not caller.key.is_limited:
        return True
    return review.execution is not None and rows.may_see(caller, review.execution)


def task_row(exchange: Exchange) -> Turn | Execution:
    """Return the row whose result an older client waits for."""
    name = exchange.params.get("taskId")
    if not isinstance(name, str):
        raise BadParams("`taskId` must be a text.")
    return rows.find(exchange.caller, name)
