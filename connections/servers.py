"""What people do with servers: add, change, remove, and whose they are."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import Group
from django.db.models import Q, QuerySet

from accounts.models import User
from boundary.errors import BlockedUrl, InvalidRequest
from boundary.http import clean_headers
from boundary.policy import destination_of, policy_from_settings
from boundary.urls import parse_url
from connections import limits
from connections.definitions import is_more_careful
from connections.errors import BadServer, TooManyServers
from connections.models import ServerTool, ToolServer
from durable.database import in_transaction
from durable.encryption import seal

UNFIT = re.compile(r"[^a-z0-9]+")
COMMON_PARTS = frozenset({"www", "mcp", "api", "com", "org", "net", "io", "dev", "app", "ai", "localhost"})
MAX_NAME_TRIES = 100


@dataclass(frozen=True, kw_only=True)
class NewServer:
    """A server to add. With neither user nor group it is for the whole site."""

    url: str
    name: str = ""
    title: str = ""
    user: User | None = None
    group: Group | None = None
    auth: str = ToolServer.Auth.NONE
    key: str = field(default="", repr=False)
    key_header: str = "Authorization"
    from_setting: bool = False


def add_server(new: NewServer) -> ToolServer:
    """Store a server without contacting it; raises BadServer, TooManyServers."""
    server = ToolServer(
        url=check_url(new.url),
        title=new.title.strip()[:200],
        user=new.user,
        group=new.group,
        from_setting=new.from_setting,
        auth=new.auth,
    )
    set_key(server, new.key, new.key_header)

    @in_transaction
    def insert() -> ToolServer:
        if new.user is not None:
            User.objects.select_for_update(no_key=True).get(pk=new.user.pk)
        if ToolServer.objects.filter(user=new.user).count() >= limits.MAX_SERVERS_PER_USER and new.user:
            raise TooManyServers
        server.name = free_name(new.name or name_from(server.url), new.user)
        server.save()
        return server

    return insert()


def set_key(server: ToolServer, key: str, header: str) -> None:
    """Set how the server is opened; raises BadServer."""
    if server.auth != ToolServer.Auth.KEY:
        if key:
            raise BadServer("A key is given, but the server is not said to need one.")
        return
    if not key or len(key) > limits.MAX_SERVER_KEY_CHARACTERS:
        raise BadServer("Enter the key that the server wants.")
    try:
        clean_headers({header: key})
    except InvalidRequest as error:
        raise BadServer(str(error)) from None
    server.key_header, server.sealed_key = header, seal(key)


def check_url(url: str) -> str:
    """Return the address if it may be reached at all; raises BadServer. Nothing is resolved or sent."""
    try:
        target = parse_url(url.strip())
        policy_from_settings().check_target(target)
    except BlockedUrl as error:
        raise BadServer(f"This address cannot be used. {error}") from None
    if len(url) > limits.MAX_SERVER_URL_CHARACTERS:
        raise BadServer("This address is too long.")
    return str(target)


def name_from(url: str) -> str:
    """Return a short name for a server from its host: mcp.linear.app becomes linear."""
    parts = [part for part in destination_of(url).host.split(".") if part not in COMMON_PARTS]
    return max(parts, key=len, default="server")


def free_name(wanted: str, user: User | None) -> str:
    """Return the name as a part of tool names, with a number if this person or the site has it already."""
    plain = UNFIT.sub("_", wanted.lower()).strip("_")[: limits.MAX_SERVER_NAME_CHARACTERS - 4] or "server"
    plain = plain if plain[0].isalpha() else f"s{plain}"
    taken = set(names_seen_by(user).filter(name__startswith=plain).values_list("name", flat=True))
    names = (plain if number == 1 else f"{plain}_{number}" for number in range(1, MAX_NAME_TRIES))
    found = next((name for name in names if name not in taken), None)
    if found is None:
        raise BadServer("There are too many servers with this name. Choose another one.")
    return found


def names_seen_by(user: User | None) -> QuerySet[ToolServer]:
    mine = Q(user=None) if user is None else Q(user=None) | Q(user=user)
    return ToolServer.objects.filter(mine)


def servers_of(user_id: int) -> QuerySet[ToolServer]:
    """Return the servers that a person uses: the site's, those of their groups, and their own."""
    groups = Group.objects.filter(user=user_id)
    whose = Q(user=user_id) | Q(user=None, group=None) | Q(user=None, group__in=groups)
    return ToolServer.objects.filter(whose)


def may_change(server: ToolServer, user: User) -> bool:
    """Return whether a person may change a server: their own, or any as an operator."""
    return server.user_id == user.pk or (
        server.user_id is None and user.is_staff and user.has_perm("connections.change_toolserver")
    )


@dataclass(frozen=True, kw_only=True)
class ServerChanges:
    """The fields to change; None leaves a field as it is."""

    title: str | None = None
    url: str | None = None
    enabled: bool | None = None
    auth: str | None = None
    key: str | None = field(default=None, repr=False)
    key_header: str | None = None


def change_server(server: ToolServer, changes: ServerChanges) -> ToolServer:
    """Change a server; raises BadServer. A key is never sent to another address than the one it was entered for."""
    values: dict[str, Any] = {}
    if changes.title is not None:
        server.title = changes.title.strip()[:200]
    if changes.enabled is not None:
        server.enabled = changes.enabled
    if changes.auth is not None and changes.auth != server.auth:
        server.auth, server.sealed_key = changes.auth, ""
    if changes.url is not None and check_url(changes.url) != server.url:
        server.url, server.sealed_key = check_url(changes.url), ""
        values = {"era": "", "protocol_version": "", "oauth": {}, "sealed_client_secret": ""}
        for name, value in values.items():
            setattr(server, name, value)
        server.sign_ins.all().delete()
    if server.auth == ToolServer.Auth.KEY and (changes.key or not server.sealed_key):
        set_key(server, changes.key or "", changes.key_header or server.key_header)
    server.failures, server.retry_at, server.last_error = 0, None, ""
    server.save()
    return server


def lower_effect(tool: ServerTool, effect: str) -> ServerTool:
    """Trust a tool less than its server's hints say; raises BadServer if that would be more."""
    if effect and not is_more_careful(effect, tool.effect):
        raise BadServer(
            f"The server itself promises no more than {tool.effect!r} for {tool.name}, so it cannot be {effect!r}."
        )
    tool.lowered_effect = "" if effect == tool.effect else effect
    tool.save(update_fields=["lowered_effect"])
    return tool
