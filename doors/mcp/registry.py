"""The providers of this process: ours, and those that other Django apps define in `copilot_mcp.py`."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from functools import cache

from django.apps import apps
from django.utils.module_loading import module_has_submodule

from doors.callers import Caller
from doors.mcp.agents import AgentProvider
from doors.mcp.copilot import CopilotProvider
from doors.mcp.errors import BadParams
from doors.mcp.providers import McpPrompt, McpTool, Provider
from doors.mcp.resources import ResourceProvider
from doors.mcp.site_tools import SiteToolProvider

EXTENSION = "copilot_mcp"
OURS: tuple[type[Provider], ...] = (CopilotProvider, AgentProvider, SiteToolProvider, ResourceProvider)


@cache
def all_providers() -> tuple[Provider, ...]:
    """Return the providers, ours first."""
    return tuple(kind() for kind in (*OURS, *extensions()))


def extensions() -> Iterator[type[Provider]]:
    """Yield the providers that other apps define."""
    for app in apps.get_app_configs():
        if app.module is None or not module_has_submodule(app.module, EXTENSION):
            continue
        module = importlib.import_module(f"{app.name}.{EXTENSION}")
        for _, kind in inspect.getmembers(module, inspect.isclass):
            if issubclass(kind, Provider) and kind.__module__ == module.__name__:
                yield kind


def tools_of(caller: Caller) -> list[McpTool]:
    """Return every tool that the key may call, in an order that stays the same."""
    return [tool for provider in all_providers() for tool in provider.tools(caller)]


def find_tool(caller: Caller, name: str) -> McpTool:
    """Return the tool of this name; raise BadParams, also if the key may not call it."""
    for provider in all_providers():
        if found := provider.tool(caller, name):
            return found
    raise BadParams(f"There is no tool named {name[:100]!r}, or this key may not call it.")


def prompts_of(caller: Caller) -> list[McpPrompt]:
    return [prompt for provider in all_providers() for prompt in provider.prompts(caller)]


def find_prompt(caller: Caller, name: str) -> McpPrompt:
    """Return the prompt of this name; raise BadParams."""
    for prompt in prompts_of(caller):
        if prompt.name == name:
            return prompt
    raise BadParams(f"There is no prompt named {name[:100]!r}.")
