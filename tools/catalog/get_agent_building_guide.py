"""get_agent_building_guide: what a model must have read before it builds agents."""

from __future__ import annotations

from typing import Literal

from executions.generator.guide import write_guide
from tools.base import Reads, ToolArgs, ToolResult, tool
from tools.context import ToolContext
from tools.permissions import block_rule


class Args(ToolArgs):
    """Nothing to say."""


class BuildingGuide(ToolResult):
    type: Literal["agent_building_guide"] = "agent_building_guide"
    format: str
    rules: str
    example: str
    workflow: str
    blocks: dict[str, str]


@tool(reads=Reads.NOTHING, holds=False)
def get_agent_building_guide(args: Args, context: ToolContext) -> BuildingGuide:
    """Read how agents are built: format, rules, all blocks, an example. Needed once before agents are built."""
    guide = write_guide(may_use=block_rule(context.permissions))
    return BuildingGuide(
        message="This is how agents are built. In `blocks`, each line is: name | id | inputs (* required) | outputs.",
        format=guide.format,
        rules=guide.rules,
        example=guide.example,
        workflow=guide.workflow,
        blocks=guide.blocks,
    )
