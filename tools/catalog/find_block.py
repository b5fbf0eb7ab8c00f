"""find_block: look a block up, with all its pins."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from durable import limits
from executions.agents.block_search import find_blocks
from tools.base import Reads, ToolArgs, ToolResult, tool
from tools.cards import BlockCard, card_of_block
from tools.context import ToolContext
from tools.errors import NoResults
from tools.permissions import block_rule
from tools.refusals import as_tool_errors


class Args(ToolArgs):
    query: str = Field(
        min_length=1, max_length=limits.MAX_QUERY_CHARACTERS, description="What it should do, or its id."
    )


class BlockList(ToolResult):
    type: Literal["block_list"] = "block_list"
    blocks: list[BlockCard]
    count: int


@tool(reads=Reads.NOTHING, holds=False)
def find_block(args: Args, context: ToolContext) -> BlockList:
    """Find blocks, the parts agents are made of, by what they do or by id, with their inputs and outputs."""
    with as_tool_errors():
        found = find_blocks(args.query, may_use=block_rule(context.permissions), most=limits.FOUND_IN_CHAT)
    if not found:
        raise NoResults(
            f"No block matches {args.query!r}.",
            [
                "Use a word for what goes in or comes out, such as list or page.",
                "Ask a model with AI Text Generator.",
            ],
        )
    blocks = [card_of_block(match.item) for match in found]
    count = f"{len(blocks)} block{'' if len(blocks) == 1 else 's'}"
    return BlockList(message=f"Found {count}, the best first.", blocks=blocks, count=len(blocks))
