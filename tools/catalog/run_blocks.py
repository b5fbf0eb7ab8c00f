"""run_block and continue_run_block: run one block by itself, also after a person has approved it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from pydantic import Field

from blocks.base import Block
from blocks.errors import ParkedForReview, UnknownBlock
from blocks.registry import get_registry
from boundary.taint import source_of
from durable.database import after_commit
from executions import limits as executions_limits
from executions.agents.search import find_blocks
from executions.errors import BadInputs
from executions.models import Review
from executions.run_block.run import TOO_LONG, SingleResult, SingleRun, run_single_block
from tools import approvals, arguments, limits, preconditions, registry
from tools.approvals import find_review
from tools.base import Effect, Reads, Tool, ToolArgs, ToolResult, tool
from tools.cards import BlockCard, block_card
from tools.context import ToolContext
from tools.errors import ToolError, as_tool_errors
from tools.known_addresses import are_known
from tools.models import ToolCall
from tools.operations.start import start
from tools.permissions import block_rule
from tools.preconditions import login_required
from tools.setup_requirements import (
    InputValidationError,
    SetupRequirements,
    invalid_inputs,
    missing_for_block,
    setup_requirements,
)
from workspace.nested_values import strings_in

CAP_SECONDS = executions_limits.MAX_TOOL_WAIT_SECONDS + limits.TOOL_SECONDS
TAKES_LONGER = (
    "Put the block into an agent and start that with run_agent, or hand the task over with run_sub_session."
)


class RunBlockArgs(ToolArgs):
    block_id: str = Field(min_length=1, max_length=100, description="Its id, as in find_block.")
    input_data: dict[str, Any] = Field(
        default_factory=dict, description="Values by input name; empty: return the block's input schema."
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


class OperationBegun(ToolResult):
    type: str = "operation_started"
    status: str
    operation_id: str
    task_id: str
    tool_name: str


Answer = BlockDetails | BlockOutput | SetupRequirements | InputValidationError | ReviewRequired


@tool(
    effect=Effect.IDEMPOTENT,
    cap_seconds=CAP_SECONDS,
    gates=[login_required],
    reads=Reads.PERHAPS,
    holds=False,
)
def run_block(
    args: RunBlockArgs, context: ToolContext
) -> BlockDetails | BlockOutput | SetupRequirements | InputValidationError | ReviewRequired:
    """Run one block by itself, for at most 300 seconds. With empty input_data it returns the block's inputs."""
    block = find(args.block_id, context)
    if not args.input_data and block.input_pins:
        return BlockDetails(
            message=f"{block.name} needs inputs.",
            next_step="Call again with input_data.",
            block=block_card(block),
            input_schema=dict(block.input_schema),
        )
    missing = missing_for_block(context.user.pk, block, args.input_data)
    if missing:
        return setup_requirements(block.name, missing)
    return run(block, args.input_data, context.key, context)


@tool(
    effect=Effect.IDEMPOTENT,
    cap_seconds=CAP_SECONDS,
    gates=[login_required],
    reads=Reads.PERHAPS,
    holds=False,
)
def continue_run_block(args: ContinueArgs, context: ToolContext) -> ToolResult:
    """Run a block or another call that was waiting for a person's approval, after they have decided."""
    review = find_review(args.review_id, context)
    call = asking_call(review, context)
    if call.name != run_block.name:
        return continue_call(review, call, context)
    if review.state == Review.State.WAITING:
        approvals.check_approved(review)
    answer = run(find(call.arguments["block_id"], context), call.arguments["input_data"], call.key, context)
    if not isinstance(answer, BlockOutput):
        raise ToolError(answer.message, code=answer.type)
    return answer


def continue_call(review: Review, call: ToolCall, context: ToolContext) -> ToolResult:
    """Do what was held, once, with the key and the arguments of the original call."""
    approvals.check_approved(review)
    tool = registry.current().get(call.name)
    if tool is None or not tool.available():
        raise ToolError(f"The tool {call.name!r} no longer exists.", code="unknown_tool")
    preconditions.check(tool, context)
    approvals.claim_approval(review, tool, context)
    args = arguments.validate(tool, call.arguments)
    own = replace(context, key=call.key, call_id=call.call_id)
    if tool.long_running:
        return start_operation(tool, call, own)
    known = tool.lookup(args, own) if tool.lookup is not None else None
    if tool.reads is Reads.ALWAYS:
        context.read_outside(tool.name)
    return known or tool.run(args, own)


def start_operation(tool: Tool, call: ToolCall, context: ToolContext) -> OperationBegun:
    """Start a held operation in the transaction of this call's result; its own result goes to the held call."""
    started = start(tool, call.arguments, context)

    def begin() -> None:
        started.save()
        after_commit(started.after_commit)

    context.with_result(begin)
    return OperationBegun.model_validate(started.answer)


def source_in(inputs: dict[str, Any]) -> str:
    """Return the host of the first URL among the inputs, or an empty string."""
    urls = (text for text in strings_in(inputs) if text.lower().startswith(("http://", "https://")))
    return next(map(source_of, urls), "")


def find(block_id: str, context: ToolContext) -> Block:
    """Return the block by its id or its exact name; raises ToolError."""
    registry = get_registry()
    for get in (registry.get, registry.get_by_name):
        try:
            return get(block_id)
        except UnknownBlock:
            continue
    near = find_blocks(
        block_id[: executions_limits.MAX_QUERY_CHARACTERS], may_use=block_rule(context.permissions), most=3
    )
    hint = (
        f" Did you mean {', '.join(f'{match.item.name} ({match.item.id})' for match in near)}?"
        if near
        else ""
    )
    raise ToolError(
        f"There is no block {block_id!r}.{hint}", code="unknown_block", next_step="Search with find_block."
    )


def run(block: Block, inputs: dict[str, Any], key: str, context: ToolContext) -> Answer:
    """Run the block once per key: a second attempt, and the one after a review, is the same run."""
    wanted = SingleRun(
        block_id=block.id,
        inputs=inputs,
        key=key,
        permissions=context.permissions.as_json(),
        session_id=context.session_id,
        tool=run_block.name,
        outside_sources=context.outside_sources,
        known_addresses=not context.outside_sources or are_known(inputs, context),
    )
    if block.gives_outside_content:
        context.read_outside(source_in(inputs) or block.name)
    try:
        with as_tool_errors():
            result = run_single_block(context.user, wanted, context.cancelled)
    except ParkedForReview as parked:
        return review_required(block, parked)
    except ToolError as error:
        if isinstance(error.__cause__, BadInputs):
            return invalid_inputs(error.__cause__, block.input_schema)
        raise
    context.stop_if_cancelled()
    return output_of(block, result)


def output_of(block: Block, result: SingleResult) -> BlockOutput:
    if result.error:
        raise ToolError(
            f"{block.name}: {result.error}",
            code="block_failed",
            next_step=TAKES_LONGER if result.error == TOO_LONG else "",
            outputs=result.outputs,
            cost=str(result.cost),
        )
    return BlockOutput(
        message=f"{block.name} has run. Outputs: {', '.join(result.outputs) or 'none'}.",
        block_id=block.id,
        block_name=block.name,
        outputs=result.outputs,
        cost=str(result.cost),
    )


def review_required(block: Block, parked: ParkedForReview) -> ReviewRequired:
    return ReviewRequired(
        message=f"{block.name} needs your approval first.",
        next_step=approvals.CONTINUE.format(review_id=parked.review_id),
        review_id=parked.review_id,
        block_id=block.id,
        block_name=block.name,
    )


def asking_call(review: Review, context: ToolContext) -> ToolCall:
    """Return the call that asked for this review; raises ToolError."""
    calls = ToolCall.objects.filter(user=context.user_id, result__type="review_required")
    found = calls.filter(result__review_id=str(review.pk)).order_by("-started_at").first()
    if found is None:
        raise ToolError("This review does not belong to a call from this chat.", code="not_found")
    return found
