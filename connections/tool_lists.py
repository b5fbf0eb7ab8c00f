"""The stored tools of a server: listed, compared with what was approved, and approved again."""

from __future__ import annotations

from dataclasses import dataclass

import structlog
from django.utils import timezone

from accounts.models import User
from connections import client, definitions, limits
from connections.definitions import Definition, UnusableDefinition
from connections.errors import ToolNotWaiting
from connections.models import ServerTool, ToolServer
from durable.database import in_transaction

log = structlog.get_logger(__name__)
State = ServerTool.State


@dataclass(frozen=True, kw_only=True)
class ToolListing:
    """What a look at the server's tools found."""

    usable: int
    waiting: int
    unusable: dict[str, str]


def refresh(server: ToolServer, user_id: int | None) -> ToolListing:
    """List the server's tools and compare them with what was approved; raises ToolServerError.

    Adding a server approves the tools it has then. What is new or different later waits for a person.
    """
    found: dict[str, Definition] = {}
    unusable: dict[str, str] = {}
    for raw in client.list_tools(server, user_id):
        try:
            definition = definitions.read(raw)
        except UnusableDefinition as error:
            name = str(raw.get("name") if isinstance(raw, dict) else raw)[:100]
            unusable[name] = str(error)
            log.warning("MCP tool left out", server=str(server.pk), tool=name, reason=str(error))
            continue
        found.setdefault(definition["name"], definition)
    waiting = store(server, found)
    return ToolListing(usable=len(found) - waiting, waiting=waiting, unusable=unusable)


@in_transaction
def store(server: ToolServer, found: dict[str, Definition]) -> int:
    """Write what was found; return how many tools wait for a person."""
    ToolServer.objects.select_for_update(no_key=True).get(pk=server.pk)
    first = server.listed_at is None
    known = {tool.name: tool for tool in server.tools.all()}
    taken = {tool.known_as for tool in known.values()}
    for name, definition in found.items():
        tool = known.get(name)
        if tool is None:
            tool = ServerTool(server=server, name=name)
            tool.known_as = definitions.known_as(server.name, name, taken)
            taken.add(tool.known_as)
        compare(tool, definition, first=first)
        tool.save()
    if first:
        pin_few(server)
    gone = [tool.pk for name, tool in known.items() if name not in found]
    ServerTool.objects.filter(pk__in=gone).update(state=State.GONE, offered=None)
    server.listed_at = timezone.now()
    server.save(update_fields=["listed_at"])
    return ServerTool.objects.filter(server=server, state__in=[State.NEW, State.CHANGED]).count()


def pin_few(server: ToolServer) -> None:
    """Show the tools of a new server to the model at once, unless they are too many."""
    tools = ServerTool.objects.filter(server=server)
    if sum(len(definitions.canonical(tool.definition)) for tool in tools) <= limits.MAX_PINNED_CHARACTERS:
        tools.update(pinned=True)


def compare(tool: ServerTool, definition: Definition, *, first: bool) -> None:
    """Set the tool's state for a definition that the server offers now."""
    if tool.digest == definitions.digest(definition):
        tool.state, tool.offered = State.APPROVED, None  # as approved, perhaps again
        return
    if first:
        accept(tool, definition)
        return
    tool.offered = definition
    tool.state = State.CHANGED if tool.digest else State.NEW


def accept(tool: ServerTool, definition: Definition) -> None:
    tool.definition, tool.digest = definition, definitions.digest(definition)
    tool.offered, tool.state = None, State.APPROVED
    tool.effect = definitions.effect_of(definition)
    tool.approved_at = timezone.now()


@in_transaction
def approve(tool: ServerTool, *, digest: str, by: User) -> ServerTool:
    """Approve the change that the person has seen, named by its digest; raises ToolNotWaiting if it is another one."""
    locked = ServerTool.objects.select_for_update(no_key=True).select_related("server").get(pk=tool.pk)
    if locked.offered is None or definitions.digest(locked.offered) != digest:
        raise ToolNotWaiting("The tool has changed again since you saw it. Look at the difference once more.")
    accept(locked, locked.offered)
    if locked.lowered_effect and not definitions.is_more_careful(locked.lowered_effect, locked.effect):
        locked.lowered_effect = ""
    locked.approved_by = by
    locked.save()
    return locked
