"""Conditions a call must meet before it runs."""

from __future__ import annotations

from tools.base import Tool
from tools.context import ToolContext
from tools.errors import ModelRetry, NeedLogin, NotPermitted
from tools.models import was_called

GUIDE = "get_agent_building_guide"


def check(tool: Tool, context: ToolContext) -> None:
    """The session's permissions first, then the tool's own gates in their order."""
    if not context.permissions.allows_tool(tool.name):
        raise NotPermitted(
            f"This session is not permitted to use {tool.name}. Tell the user, and go on without it."
        )
    for gate in tool.gates:
        gate(context)


def login_required(context: ToolContext) -> None:
    """Refuse visitors without an account."""
    if context.user_id is None:
        raise NeedLogin


def guide_read(context: ToolContext) -> None:
    """Refuse until this session has read the guide on building agents."""
    if not was_called(context.session_id, GUIDE):
        raise ModelRetry(f"Call {GUIDE} first and read it. Then make this call again.")
