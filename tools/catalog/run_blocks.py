"""run_block and continue_run_block: one block by itself, and after a person has approved it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from durable import limits
from executions.agents.block_search import find_blocks
from executions.blocks.base import Block
from executions.blocks.errors import ParkedForReview, UnknownBlock
from executions.blocks.registry import get_registry
from executions.errors import BadInputs
from executions.models import Review
from executions.single import SingleResult, SingleRun, run_single_block
from tools.base import Effect, ToolArgs, ToolResult, tool
from tools.cards import BlockCard, card_of_block
from tools.context import ToolContext
from tools.credential_needs import PROVIDERS_LINK, missing_for_block
from tools.errors import ToolError
from tools.gates import login_required
from tools.models import ToolCall
from tools.needed import InputValidationError, SetupRequirements
from tools.permissions import block_rule
from tools.refusals import as_tool_errors
from tools.reviews import find_review

CAP_SECONDS = limits.MAX_TOOL_WAIT_SECONDS + limits.TOOL_SECONDS


class RunArgs(ToolArgs):
    block_id: str = Field(min_length=1, max_length=100, description="As find_block shows it.")
    input_data: dict[str, Any] = Field(
        default_factory=dict, description="Values by input name; empty: tell what it takes."
    )


class ContinueArgs(ToolArgs):
    review_id: str = Field(min_length=1, max_length=64)


class BlockDetails(ToolResult):
    type: Literal["block_details"] = "block_details"
    block: BlockCard
    input_schema: dict[str, Any]


class BlockOutput(ToolResult):
    type: Literal["block_output"] = "block_output"
    block_id: str
    block_name: str
    outputs: dict[str, list[Any]]
    cost: str


class ReviewRequired(ToolResult):
    type: Literal["review_required"] = "review_required"
    review_id: str
    block_id: str
    block_name: str


Answer = BlockDetails | BlockOutput | SetupRequirements | InputValidationError | ReviewRequired


@tool(effect=Effect.IDEMPOTENT, cap_seconds=CAP_SECONDS, gates=[login_required])
def run_block(
    args: RunArgs, context: ToolContext
) -> BlockDetails | BlockOutput | SetupRequirements | InputValidationError | ReviewRequired:
    """Run one block by itself, for at most 300 seconds. With empty input_data it tells what the block takes."""
    block = find(args.block_id, context)
    if not args.input_data and block.input_pins:
        return BlockDetails(
            message=f"{block.name} takes these inputs. Call again with input_data.",
            block=card_of_block(block),
            input_schema=dict(block.input_schema),
        )
    missing = missing_for_block(context.user.pk, block, args.input_data)
    if missing:
        return SetupRequirements(
            message=f"{block.name} needs a {missing[0]['provider']} credential that is not there. Ask the user to add "
            f"it under {PROVIDERS_LINK}; never ask for it in the chat.",
            name=block.name,
            missing_credentials=missing,
            link=PROVIDERS_LINK,
        )
    return run(block, args.input_data, context.key, context)


@tool(effect=Effect.IDEMPOTENT, cap_seconds=CAP_SECONDS, gates=[login_required])
def continue_run_block(args: ContinueArgs, context: ToolContext) -> BlockOutput:
    """Run a block that had to wait for a person's approval, once they have decided."""
    review = find_review(args.review_id, context)
    call = asking_call(review, context)
    if review.state == Review.State.WAITING:
        raise ToolError(
            "The user has not decided yet. Tell them that it waits for them, and call again when they have.",
            code="review_waiting",
            review_id=str(review.pk),
        )
    answer = run(find(call.arguments["block_id"], context), call.arguments["input_data"], call.key, context)
    if not isinstance(answer, BlockOutput):
        raise ToolError(answer.message, code=answer.type)
    return answer


def find(block_id: str, context: ToolContext) -> Block:
    """The block by its id, or by its exact name."""
    registry = get_registry()
    for look in (registry.get, registry.get_by_name):
        try:
            return look(block_id)
        except UnknownBlock:
            continue
    near = find_blocks(
        block_id[: limits.MAX_QUERY_CHARACTERS], may_use=block_rule(context.permissions), most=3
    )
    hint = (
        f" Did you mean {', '.join(f'{match.item.name} ({match.item.id})' for match in near)}?"
        if near
        else ""
    )
    raise ToolError(f"There is no block {block_id!r}.{hint} find_block searches them.", code="unknown_block")


def run(block: Block, inputs: dict[str, Any], key: str, context: ToolContext) -> Answer:
    """Once per key: a second attempt, and the one after a review, is the same run."""
    wanted = SingleRun(
        block_id=block.id,
        inputs=inputs,
        key=key,
        permissions=context.permissions.as_json(),
        session_id=context.session_id,
    )
    try:
        with as_tool_errors():
            result = run_single_block(context.user, wanted, context.cancelled)
    except ParkedForReview as parked:
        return review_required(block, parked)
    except ToolError as error:
        if isinstance(error.__cause__, BadInputs):
            return refused(error.__cause__, block)
        raise
    context.stop_if_cancelled()
    return told(block, result)


def told(block: Block, result: SingleResult) -> BlockOutput:
    if result.error:
        raise ToolError(
            f"{block.name}: {result.error}",
            code="block_failed",
            outputs=result.outputs,
            cost=str(result.cost),
        )
    pins = ", ".join(result.outputs) or "nothing"
    return BlockOutput(
        message=f"{block.name} has run. It gave out: {pins}.",
        block_id=block.id,
        block_name=block.name,
        outputs=result.outputs,
        cost=str(result.cost),
    )


def review_required(block: Block, parked: ParkedForReview) -> ReviewRequired:
    return ReviewRequired(
        message=f"{block.name} does something that a person must approve first. It is shown to the user: tell them, "
        f"end your answer, and when they have decided call continue_run_block with review_id={parked.review_id}.",
        review_id=parked.review_id,
        block_id=block.id,
        block_name=block.name,
    )


def refused(error: BadInputs, block: Block) -> InputValidationError:
    return InputValidationError(
        message=f"Nothing was run, the inputs do not fit. {error}",
        problems=error.problems,
        input_schema=dict(block.input_schema),
    )


def asking_call(review: Review, context: ToolContext) -> ToolCall:
    """The call that asked for this review: with its key and its inputs the run goes on."""
    calls = ToolCall.objects.filter(user=context.user_id, name=run_block.name)
    found = calls.filter(result__review_id=str(review.pk)).order_by("-started_at").first()
    if found is None:
        raise ToolError("This review does not belong to a block that was run in chat.", code="not_found")
    return found
