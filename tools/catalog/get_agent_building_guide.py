"""get_agent_building_guide: the guide that a model must read before it builds agents."""

from __future__ import annotations

from typing import Literal

from executions.generator.guide import write_guide
from tools.base import Reads, ToolArgs, ToolResult, tool
from tools.context import ToolContext
from tools.permissions import block_rule


class Args(ToolArgs):
    """No arguments."""


class BuildingGuide(ToolResult):
    type: Literal["agent_building_guide"] = "agent_building_guide"
    format: str
    rules: str
    example: str
    workflow: str
    blocks: dict[str, str]


@tool(reads=Reads.NOTHING, holds=False)
def get_agent_building_guide(args: Args, context: ToolContext) -> BuildingGuide:
    """Read the guide to building agents: format, rules, all blocks, an example. Read it once before building agents."""
    guide = write_guide(may_use=block_rule(context.permissions))
    return BuildingGuide(
        message="The guide to building agents.",
        next_step="In `blocks`, each line is: name | id | inputs (* required) | outputs.",
        format=guide.format,
        rules=guide.rules,
        example=guide.example,
        workflow=guide.workflow,
        blocks=guide.blocks,
    )
