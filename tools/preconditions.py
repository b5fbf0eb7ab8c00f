"""Conditions that a call must meet before it runs."""

from __future__ import annotations

from django.conf import settings

from tools.base import Tool
from tools.context import ToolContext
from tools.errors import ModelRetry, NeedLogin, NotPermitted
from tools.models import was_called

GUIDE = "get_agent_building_guide"


def check(tool: Tool, context: ToolContext) -> None:
    """Check the session's permissions, then the tool's gates in order; raises ToolOutcome."""
    if not tool.for_client and not context.permissions.allows_tool(tool.name):
        raise NotPermitted(f"This session is not permitted to use {tool.name}.")
    for gate in tool.gates:
        gate(context)


def search_configured() -> bool:
    """Return whether the operator has configured a web search."""
    return bool(settings.SEARCH_URL or settings.SEARCH_CORPUS)


def login_required(context: ToolContext) -> None:
    """Refuse visitors without an account."""
    if context.user_id is None:
        raise NeedLogin


def guide_read(context: ToolContext) -> None:
    """Refuse until this session has read the guide on building agents."""
    if not was_called(context.session_id, GUIDE):
        raise ModelRetry(
            "The guide to building agents must be read first.",
            next_step=f"Call {GUIDE} and read its result, then make this call again.",
        )
