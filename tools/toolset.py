"""The tools of one person: those of the site, and those of the MCP servers that they use."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.contenttypes.models import ContentType
from django.db.models import Exists

from connections.models import ToolServer
from llm.types import ToolSpec
from tools import connected_tools, limits, registry, schema
from tools.base import Tool
from tools.errors import ModelRetry
from tools.models import ToolPolicy
from tools.permissions import Permissions
from tools.policies import NO_RULES, Rules, rules_for

FIND_TOOL = "find_tool"
CALL_TOOL = "call_tool"
SEARCH = frozenset({FIND_TOOL, CALL_TOOL})


@dataclass(frozen=True, kw_only=True)
class _OfferedTo:
    permissions: Permissions


@dataclass(frozen=True, kw_only=True)
class _Known:
    rules: bool
    servers: bool


class _Presence:
    """Whether the site has any rules for tools, or servers: most sites have none, and no turn should ask for them.

    What it says may be a few seconds old. Calls look at the rules themselves.
    """

    def __init__(self) -> None:
        self._known: _Known | None = None
        self._until = 0.0

    def get(self) -> _Known:
        if self._known is None or time.monotonic() >= self._until:
            rows = ContentType.objects.annotate(
                rules=Exists(ToolPolicy.objects.all()), servers=Exists(ToolServer.objects.all())
            )
            rules, servers = rows.values_list("rules", "servers").first() or (True, True)
            self._known = _Known(rules=rules, servers=servers)
            self._until = time.monotonic() + limits.TOOL_PRESENCE_SECONDS
        return self._known

    def forget(self) -> None:
        self._known = None


_presence = _Presence()


def forget_presence(**kwargs: object) -> None:
    """Look again whether there are rules or servers, after a change in this process."""
    _presence.forget()


def offered(permissions: Permissions, *, user_id: int | None, session_id: uuid.UUID | None) -> list[ToolSpec]:
    """Return the tools that the model is shown: the site's, and those of servers as far as there is room."""
    known = _presence.get()
    rules = rules_for(user_id, session_id) if known.rules else NO_RULES
    ours = [
        spec for spec in registry.offered(_OfferedTo(permissions=permissions)) if not rules.denies(spec.name)
    ]
    found = connected_tools.of_person(user_id) if known.servers else []
    connected = usable(found, permissions, rules)
    if not connected:
        return [spec for spec in ours if spec.name not in SEARCH]
    room = limits.MAX_TOOL_SCHEMA_CHARACTERS - sum(map(schema.spec_size, ours))
    inline = within(room, [found.tool for found in connected if found.pinned])
    if len(inline) == len(connected):
        ours = [spec for spec in ours if spec.name not in SEARCH]
    return ours + [schema.spec(tool) for tool in inline]


def usable(
    found: Sequence[connected_tools.ConnectedTool], permissions: Permissions, rules: Rules
) -> list[connected_tools.ConnectedTool]:
    return [
        one for one in found if permissions.allows_tool(one.tool.name) and not rules.denies(one.tool.name)
    ]


def within(room: int, tools: Sequence[Tool]) -> list[Tool]:
    """Return the tools, in their order, whose schemas fit together."""
    chosen = []
    for tool in tools:
        room -= schema.size(tool)
        if room < 0:
            break
        chosen.append(tool)
    return chosen


def find(name: str, user_id: int | None) -> Tool | None:
    """Return the tool that a person's session calls by this name; None if there is none, or not on this machine."""
    tool = registry.current().get(name)
    if tool is not None:
        return tool if tool.available() else None
    return connected_tools.find(name, user_id)


def named_call(arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the name and the arguments of the call inside a call of `call_tool`; raises ModelRetry."""
    name, inner = arguments.get("name"), arguments.get("arguments", {})
    if not isinstance(name, str) or not isinstance(inner, dict) or name in SEARCH:
        raise ModelRetry(
            f"{CALL_TOOL} needs the name of a tool that {FIND_TOOL} returned, and its arguments."
        )
    return name, inner
