"""Calls that a person must approve: a rule says so, or the model had read third-party content."""

from __future__ import annotations

import uuid
from typing import Any, assert_never

from blocks.ports import ReviewQuestion
from boundary import taint
from durable import crashpoints
from executions.models import Review
from executions.reviews.questions import ReviewContext, ask_once
from tools.base import Effect, Rule, Tool
from tools.context import ToolContext
from tools.errors import ApprovalNeeded, Interrupted, NotPermitted, ToolError
from tools.running_call import RunningCall

State = Review.State
CONTINUE = (
    "The review is shown to the user: tell them, end your answer, and when they have decided call "
    "continue_run_block with review_id={review_id}."
)
REJECTED = "It was not approved, so it was not done."


class CallHeld(Exception):
    """The call waits for a person; `question` is what they are asked."""

    def __init__(self, question: ReviewQuestion) -> None:
        super().__init__(self.__doc__)
        self.question = question


def check_call(call: RunningCall, rule: Rule) -> None:
    """Let a call pass, or raise CallHeld, ApprovalNeeded, NotPermitted or ToolError."""
    match rule:
        case Rule.DENY:
            raise NotPermitted(f"{call.tool.name} is switched off here.")
        case Rule.ASK:
            check_asked(call)
        case Rule.ALLOW:
            check_tainted_call(call)
        case _:
            assert_never(rule)


def check_asked(call: RunningCall) -> None:
    """Raise CallHeld, or NotPermitted where nobody can be asked."""
    if call.context.user_id is None:
        raise NotPermitted(f"{call.tool.name} needs a person's approval, which needs an account.")
    sources = call.context.outside_sources if call.tool.holds(call.args, call.context) else ()
    if sources and taint.current_policy() is taint.TaintPolicy.DENY:
        raise denied(sources)
    raise CallHeld(
        ReviewQuestion(name=call.tool.name, data=call.arguments, editable=False, outside_sources=sources)
    )


def denied(sources: taint.Sources) -> ToolError:
    return ToolError(
        f"{taint.explain(sources)} {taint.DENIED}",
        code="outside_content",
        next_step="Tell the user and continue without it.",
    )


def check_tainted_call(call: RunningCall) -> None:
    """Let a call pass, or raise ApprovalNeeded or ToolError.

    Asks once per call: the review has the call's key, so a worker that dies in between leaves one review, and a
    decision made meanwhile counts.
    """
    sources = call.context.outside_sources
    policy = taint.current_policy()
    if not sources or policy is taint.TaintPolicy.ALLOW or not call.tool.holds(call.args, call.context):
        return
    if policy is taint.TaintPolicy.DENY or call.context.user_id is None:
        raise denied(sources)
    question = ReviewQuestion(
        name=call.tool.name, data=call.arguments, editable=False, outside_sources=sources
    )
    asker = ReviewContext(user_id=call.context.user_id, session_id=call.context.session_id)
    review = ask_once(asker, question, f"call:{call.key}")
    crashpoints.reached("approval_asked")
    if State(review.state) is State.WAITING:
        raise approval_needed(call, review)
    check_approved(review)


def approval_needed(call: RunningCall, review: Review) -> ApprovalNeeded:
    sources = list(review.outside_sources)
    return ApprovalNeeded(
        f"{call.tool.name} needs your approval first. {taint.explain(sources)}",
        next_step=CONTINUE.format(review_id=review.pk),
        review_id=str(review.pk),
        tool_name=call.tool.name,
        outside_sources=sources,
    )


def check_approved(review: Review) -> None:
    """Raise ToolError unless the review was approved."""
    state = State(review.state)
    match state:
        case State.APPROVED:
            return
        case State.WAITING:
            raise ToolError(
                "The review has not been decided yet.",
                code="review_waiting",
                next_step="Tell the user that it is waiting for them, and call again when they have decided.",
                review_id=str(review.pk),
            )
        case State.REJECTED | State.EXPIRED | State.WITHDRAWN:
            raise ToolError(f"{REJECTED} {review.message}".strip(), code="not_approved")
        case _:
            assert_never(state)


def claim_approval(review: Review, tool: Tool, context: ToolContext) -> None:
    """Let this call do what was approved; raises ToolError when another call has it or its outcome is unknown.

    Once: only one call gets it, and after a crash the same call gets it again. An operation starts in the transaction
    of the call's result, so its outcome is always known.
    """
    if Review.objects.filter(pk=review.pk, continued_by="").update(continued_by=context.key):
        return
    review.refresh_from_db(fields=["continued_by"])
    if review.continued_by != context.key:
        raise ToolError(
            "This was done already; its result is earlier in the conversation.", code="already_done"
        )
    if tool.effect is Effect.FOREIGN and not tool.long_running:
        raise Interrupted


# --- finding reviews ------------------------------------------------------------------------------


def review_id_in(result: Any) -> str | None:
    """Return the id of the first review that a tool result is waiting for, or None."""
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
