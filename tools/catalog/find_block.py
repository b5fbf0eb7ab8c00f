"""find_block: search blocks, with their inputs and outputs."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from executions import limits as executions_limits
from executions.agents.search import find_blocks
from tools import limits
from tools.base import Reads, ToolArgs, ToolResult, tool
from tools.cards import BlockCard, block_card
from tools.context import ToolContext
from tools.errors import NoResults, as_tool_errors
from tools.permissions import block_rule


class Args(ToolArgs):
    query: str = Field(
        min_length=1,
        max_length=executions_limits.MAX_QUERY_CHARACTERS,
        description="What it should do, or its id.",
    )


class FoundBlocks(ToolResult):
    type: Literal["block_list"] = "block_list"
    blocks: list[BlockCard]
    count: int


@tool(reads=Reads.NOTHING, holds=False)
def find_block(args: Args, context: ToolContext) -> FoundBlocks:
    """Find blocks, the building blocks of agents, by what they do or by id, with their inputs and outputs."""
    with as_tool_errors():
        found = find_blocks(args.query, may_use=block_rule(context.permissions), most=limits.FOUND_IN_CHAT)
    if not found:
        raise NoResults(
            f"No block matches {args.query!r}.",
            [
                "Use a word for its inputs or outputs, such as list or page.",
                "Let a model do it with the block AI Text Generator.",
            ],
        )
    blocks = [block_card(match.item) for match in found]
    count = f"{len(blocks)} block{'' if len(blocks) == 1 else 's'}"
    return FoundBlocks(message=f"Found {count}, best match first.", blocks=blocks, count=len(blocks))
