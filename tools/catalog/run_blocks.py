"""run_block and continue_run_block: one block by itself, and after a person has approved it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from pydantic import Field

from boundary.taint import source_of
from durable import limits
from durable.after_commit import after_commit
from executions.agents.block_search import find_blocks
from executions.blocks.base import Block
from executions.blocks.errors import ParkedForReview, UnknownBlock
from executions.blocks.registry import get_registry
from executions.errors import BadInputs
from executions.models import Review
from executions.single import SingleResult, SingleRun, run_single_block
from tools import approvals, arguments, gates, registry
from tools.base import Effect, Reads, Tool, ToolArgs, ToolResult, tool
from tools.cards import BlockCard, card_of_block
from tools.context import ToolContext
from tools.credential_needs import PROVIDERS_LINK, missing_for_block
from tools.errors import ToolError
from tools.gates import login_required
from tools.known_addresses import are_known, strings_in
from tools.models import ToolCall
from tools.needed import InputValidationError, SetupRequirements
from tools.operations.starting import start
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


@tool(
    effect=Effect.IDEMPOTENT,
    cap_seconds=CAP_SECONDS,
    gates=[login_required],
    reads=Reads.PERHAPS,
    holds=False,
)
def continue_run_block(args: ContinueArgs, context: ToolContext) -> ToolResult:
    """Run a block, or do another call, that had to wait for a person's approval, once they have decided."""
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
    """Do what was held, once, under the key and with the arguments it was asked with."""
    approvals.check_approved(review)
    tool = registry.current().get(call.name)
    if tool is None or not tool.available():
        raise ToolError(f"There is no tool named {call.name!r} any more.", code="unknown_tool")
    gates.check(tool, context)
    approvals.take(review, tool, context)
    args = arguments.validate(tool, call.arguments)
    own = replace(context, key=call.key, call_id=call.call_id)
    if tool.long_running:
        return start_operation(tool, call, own)
    known = tool.lookup(args, own) if tool.lookup is not None else None
    if tool.reads is Reads.ALWAYS:
        context.read_outside(tool.name)
    return known or tool.run(args, own)


def start_operation(tool: Tool, call: ToolCall, context: ToolContext) -> OperationBegun:
    """A held operation begins when this call's answer is saved; its result comes to the call that was held."""
    started = start(tool, call.arguments, context)

    def begin() -> None:
        started.save()
        after_commit(started.after_commit)

    context.with_result(begin)
    return OperationBegun.model_validate(started.answer)


def source_in(inputs: dict[str, Any]) -> str:
    """The host of the first address among the inputs."""
    urls = (text for text in strings_in(inputs) if text.lower().startswith(("http://", "https://")))
    return next(map(source_of, urls), "")


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
    calls = ToolCall.objects.filter(user=context.user_id, result__type="review_required")
    found = calls.filter(result__review_id=str(review.pk)).order_by("-started_at").first()
    if found is None:
        raise ToolError("This review does not belong to a call that was made in chat.", code="not_found")
    return found
