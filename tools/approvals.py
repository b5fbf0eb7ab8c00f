"""Calls that wait for a person because of what the model had read from outside."""

from __future__ import annotations

from typing import assert_never

from boundary import taint
from durable import crashpoints
from executions.models import Review
from executions.ports import ReviewQuestion
from executions.reviews.asking import Asker, ask_once
from tools.base import Effect, Tool
from tools.context import ToolContext
from tools.errors import ApprovalNeeded, Interrupted, ToolError
from tools.running import RunningCall

State = Review.State
REJECTED = "The user did not approve it, so it was not done."


def hold(call: RunningCall) -> None:
    """Let a call pass, or raise what the model is told instead.

    Asked once per call: its key is the review's, so a worker that died between the question and the answer leaves
    one question. A decision that came meanwhile counts.
    """
    sources = call.context.outside_sources
    policy = taint.current_policy()
    if not sources or policy is taint.Policy.ALLOW or not call.tool.holds(call.args, call.context):
        return
    if policy is taint.Policy.DENY or call.context.user_id is None:
        raise ToolError(f"{taint.explain(sources)} {taint.DENIED}", code="outside_content")
    question = ReviewQuestion(
        name=call.tool.name, data=call.arguments, editable=False, outside_sources=sources
    )
    asker = Asker(user_id=call.context.user_id, session_id=call.context.session_id)
    review = ask_once(asker, question, f"call:{call.key}")
    crashpoints.reached("approval_asked")
    if State(review.state) is State.WAITING:
        raise approval_needed(call, review)
    check_approved(review)


def approval_needed(call: RunningCall, review: Review) -> ApprovalNeeded:
    sources = list(review.outside_sources)
    return ApprovalNeeded(
        f"{call.tool.name} was not done: a person must approve it first. {taint.explain(sources)} It is shown to the "
        "user: tell them, end your answer, and when they have decided call continue_run_block with "
        f"review_id={review.pk}.",
        review_id=str(review.pk),
        tool_name=call.tool.name,
        outside_sources=sources,
    )


def check_approved(review: Review) -> None:
    """Raise what the model is told while nobody has approved, or when somebody has refused."""
    state = State(review.state)
    match state:
        case State.APPROVED:
            return
        case State.WAITING:
            raise ToolError(
                "The user has not decided yet. Tell them that it waits for them, and call again when they have.",
                code="review_waiting",
                review_id=str(review.pk),
            )
        case State.REJECTED | State.EXPIRED | State.WITHDRAWN:
            raise ToolError(f"{REJECTED} {review.message}".strip(), code="not_approved")
        case _:
            assert_never(state)


def take(review: Review, tool: Tool, context: ToolContext) -> None:
    """Make this call the one that does what was approved; raises when another has, or when it may have happened.

    Once: of many calls one gets it, and after a crash it is the same one again. An operation begins with the answer
    that says so, so there is no doubt about it then.
    """
    if Review.objects.filter(pk=review.pk, continued_by="").update(continued_by=context.key):
        return
    review.refresh_from_db(fields=["continued_by"])
    if review.continued_by != context.key:
        raise ToolError("This was done already; its result stands where that was.", code="already_done")
    if tool.effect is Effect.FOREIGN and not tool.long_running:
        raise Interrupted
