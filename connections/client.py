"""Requests to a server of a row: the right era, the right credentials, and a pause after failures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import structlog
from django.db.models import F
from django.utils import timezone

from connections import limits
from connections.authorization import headers_for_server
from connections.eras import Handshake, Modern, Send, speaks_modern
from connections.errors import (
    NoCommonVersion,
    ServerMisbehaved,
    ServerPaused,
    ServerRefused,
    ServerUnreachable,
    SignInNeeded,
)
from connections.models import ToolServer
from connections.revisions import (
    CONNECTION_CLOSED,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from connections.transport import Address

log = structlog.get_logger(__name__)
T = TypeVar("T")
WRONG_ERA = frozenset(  # -32000 is what older servers say to a request without a session
    {UNSUPPORTED_PROTOCOL_VERSION, METHOD_NOT_FOUND, INVALID_REQUEST, CONNECTION_CLOSED}
)
MAX_INSTRUCTIONS_CHARACTERS = 10_000
MAX_CHALLENGE_CHARACTERS = 4_000


@dataclass(frozen=True, kw_only=True)
class ServerSession:
    """An open exchange with a server; `modern` says which era it speaks."""

    send: Send
    modern: bool


def talk(server: ToolServer, user_id: int | None, exchange: Callable[[ServerSession], T]) -> T:
    """Run an exchange with the server and note how it went in its row; raises ToolServerError.

    Nothing is sent while the server is left alone after failures. `exchange` runs again in the other era if the
    server has changed eras before it did anything.
    """
    check_pause(server)
    try:
        result = _in_right_era(server, user_id, exchange)
    except ServerUnreachable as error:
        note_failure(server, error)
        raise
    except SignInNeeded as error:
        note_challenge(server, error)
        raise
    note_success(server)
    return result


def _in_right_era(server: ToolServer, user_id: int | None, exchange: Callable[[ServerSession], T]) -> T:
    address = Address(url=server.url, headers=headers_for_server(server, user_id))
    before = server.era
    if before == ToolServer.Era.UNKNOWN:
        learn_era(server, address)
    try:
        with session_of(server, address) as session:
            return exchange(session)
    except (ServerRefused, NoCommonVersion) as error:
        if before == ToolServer.Era.UNKNOWN or not may_speak_other_era(error):
            raise
        learn_era(server, address)
        if server.era == before:
            raise
    with session_of(server, address) as session:
        return exchange(session)


def may_speak_other_era(error: Exception) -> bool:
    """Return whether an error may mean that the server was upgraded, or put back, since its era was learnt."""
    if isinstance(error, NoCommonVersion):
        return True
    return isinstance(error, ServerRefused) and error.error_code in WRONG_ERA


def learn_era(server: ToolServer, address: Address) -> None:
    """Ask the server which era it speaks and remember it."""
    found = speaks_modern(address)
    if found is not None:
        remember(server, ToolServer.Era.MODERN, Modern.version, str(found.get("instructions") or ""))
        return
    handshake = Handshake()
    with handshake.open(address):
        pass
    remember(server, ToolServer.Era.HANDSHAKE, handshake.version, handshake.instructions)


@contextmanager
def session_of(server: ToolServer, address: Address) -> Iterator[ServerSession]:
    modern = server.era == ToolServer.Era.MODERN
    era: Modern | Handshake = Modern() if modern else Handshake()
    with era.open(address) as send:
        yield ServerSession(send=send, modern=modern)


def remember(server: ToolServer, era: str, version: str, instructions: str) -> None:
    server.era, server.protocol_version = era, version
    server.instructions = instructions[:MAX_INSTRUCTIONS_CHARACTERS].replace("\0", "")
    if server.pk is not None and not server._state.adding:
        server.save(update_fields=["era", "protocol_version", "instructions"])


# --- failures -------------------------------------------------------------------------------------


def check_pause(server: ToolServer) -> None:
    """Raise ServerPaused while the server is left alone."""
    if server.retry_at is not None and server.retry_at > timezone.now():
        raise ServerPaused(
            f"{server} did not answer {server.failures} times and is left alone until "
            f"{server.retry_at:%H:%M:%S} UTC. {server.last_error}".strip()
        )


def note_failure(server: ToolServer, error: Exception) -> None:
    """Count the failure and leave the server alone for a while, longer each time."""
    if isinstance(error, ServerPaused) or server._state.adding:
        return
    failures = server.failures + 1
    over = max(failures - limits.FREE_SERVER_FAILURES, 0)
    pause = limits.SERVER_FIRST_PAUSE_SECONDS * limits.SERVER_PAUSE_FACTOR ** min(over, 20)
    pause = min(pause, limits.SERVER_LONGEST_PAUSE_SECONDS)
    server.last_error = str(error)[: limits.MAX_REPORTED_ERROR_CHARACTERS]
    server.failures = failures
    server.retry_at = timezone.now() + timedelta(seconds=pause) if over else None
    ToolServer.objects.filter(pk=server.pk).update(
        failures=F("failures") + 1, retry_at=server.retry_at, last_error=server.last_error
    )
    log.warning("MCP server failed", server=str(server.pk), failures=failures, error=server.last_error)


def note_challenge(server: ToolServer, error: SignInNeeded) -> None:
    """Keep what the server says about signing in, for the sign-in that follows."""
    if not error.challenge or server._state.adding:
        return
    server.oauth = server.oauth | {"challenge": error.challenge[:MAX_CHALLENGE_CHARACTERS].replace("\0", "")}
    ToolServer.objects.filter(pk=server.pk).update(oauth=server.oauth)


def note_success(server: ToolServer) -> None:
    if not server.failures and not server.last_error:
        return
    server.failures, server.retry_at, server.last_error = 0, None, ""
    ToolServer.objects.filter(pk=server.pk).update(failures=0, retry_at=None, last_error="")


# --- requests -------------------------------------------------------------------------------------


def list_tools(server: ToolServer, user_id: int | None) -> list[Any]:
    """Return the raw definitions of all tools of the server; raises ToolServerError."""

    def exchange(session: ServerSession) -> list[Any]:
        found: list[Any] = []
        cursor: str | None = None
        for _ in range(limits.MAX_TOOL_LIST_PAGES):
            page = session.send("tools/list", {"cursor": cursor} if cursor else {})
            tools = page.get("tools")
            if not isinstance(tools, list):
                raise ServerMisbehaved("The MCP server's list of tools is not a list.")
            found += tools
            cursor = page.get("nextCursor")
            if not isinstance(cursor, str) or not cursor or len(found) > limits.MAX_TOOLS_PER_SERVER:
                break
        return found[: limits.MAX_TOOLS_PER_SERVER]

    return talk(server, user_id, exchange)


def ask(
    server: ToolServer,
    user_id: int | None,
    method: str,
    params: Mapping[str, Any],
    *,
    headers: Mapping[str, str] | None = None,
    seconds: float = limits.SERVER_REQUEST_SECONDS,
) -> dict[str, Any]:
    """Send one request and return its result; raises ToolServerError."""
    return talk(
        server,
        user_id,
        lambda session: session.send(method, params, headers=headers, seconds=seconds),
    )
