"""The two eras of the protocol: requests that stand for themselves, and requests after a handshake."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from connections import limits, transport
from connections.errors import NoCommonVersion, ServerMisbehaved, ServerRefused
from connections.param_headers import encode_header
from connections.revisions import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    HANDSHAKE_PROTOCOL_VERSIONS,
    LATEST_HANDSHAKE_VERSION,
    LATEST_MODERN_VERSION,
    PROTOCOL_VERSION_META_KEY,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from connections.transport import Address

TASKS = "io.modelcontextprotocol/tasks"
CLIENT = {"name": "ratchet", "title": "Ratchet", "version": "1"}
CAPABILITIES: Mapping[str, Any] = {"elicitation": {"form": {}, "url": {}}, "extensions": {TASKS: {}}}
HANDSHAKE_CAPABILITIES: Mapping[str, Any] = {}  # nobody reads requests of the server between two calls
NAMED_BY = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}

Result = dict[str, Any]
Send = Callable[..., Result]


class Modern:
    """Revision 2026-07-28: one POST per request, which says who asks and what the client can do."""

    version = LATEST_MODERN_VERSION

    @contextmanager
    def open(self, address: Address) -> Iterator[Send]:
        """Yield the function that sends a request; there is nothing to open."""

        def send(
            method: str,
            params: Mapping[str, Any] | None = None,
            *,
            headers: Mapping[str, str] | None = None,
            seconds: float = limits.SERVER_REQUEST_SECONDS,
        ) -> Result:
            given = dict(params or {})
            given["_meta"] = {**given.get("_meta", {}), **self._meta()}
            routing = {"MCP-Protocol-Version": self.version, "Mcp-Method": method}
            if isinstance(name := given.get(NAMED_BY.get(method, "")), str):
                routing["Mcp-Name"] = encode_header(name)
            sent = {**routing, **(headers or {})}
            try:
                return transport.request(address, method, given, headers=sent, seconds=seconds).result
            except ServerRefused as error:
                if error.error_code != UNSUPPORTED_PROTOCOL_VERSION or self.version not in named_versions(
                    error
                ):
                    raise
            return transport.request(address, method, given, headers=sent, seconds=seconds).result

        yield send

    def _meta(self) -> dict[str, Any]:
        return {
            PROTOCOL_VERSION_META_KEY: self.version,
            CLIENT_INFO_META_KEY: CLIENT,
            CLIENT_CAPABILITIES_META_KEY: dict(CAPABILITIES),
        }


class Handshake:
    """Revisions up to 2025-11-25: a session that begins with `initialize` and ends with the call."""

    def __init__(self) -> None:
        self.version = LATEST_HANDSHAKE_VERSION
        self.instructions = ""
        self.capabilities: dict[str, Any] = {}

    @contextmanager
    def open(self, address: Address) -> Iterator[Send]:
        """Open a session, yield the function that sends a request in it, and close the session."""
        hello = {
            "protocolVersion": self.version,
            "capabilities": dict(HANDSHAKE_CAPABILITIES),
            "clientInfo": CLIENT,
        }
        reply = transport.request(address, "initialize", hello, headers={})
        self._read(reply.result)
        session = {"MCP-Protocol-Version": self.version}
        if reply.session_id:
            session["Mcp-Session-Id"] = reply.session_id
        transport.notify(address, "notifications/initialized", headers=session)

        def send(
            method: str,
            params: Mapping[str, Any] | None = None,
            *,
            headers: Mapping[str, str] | None = None,  # of the modern era only
            seconds: float = limits.SERVER_REQUEST_SECONDS,
        ) -> Result:
            return transport.request(
                address, method, dict(params or {}), headers=session, seconds=seconds
            ).result

        try:
            yield send
        finally:
            if reply.session_id:
                transport.close_session(address, session)

    def _read(self, result: Result) -> None:
        version = result.get("protocolVersion")
        if version not in HANDSHAKE_PROTOCOL_VERSIONS:
            raise NoCommonVersion(
                f"The MCP server wants revision {str(version)[:40]!r}, which is unknown here."
            )
        self.version = str(version)
        self.instructions = str(result.get("instructions") or "")
        found = result.get("capabilities")
        self.capabilities = found if isinstance(found, dict) else {}


def speaks_modern(address: Address) -> dict[str, Any] | None:
    """Ask `server/discover`; return what the server says about itself, or None if it wants a handshake.

    Anything but a valid answer is taken for a server of the older era, except one that names revisions of which we
    speak none. Raises ServerUnreachable and SignInNeeded: an outage says nothing about the era.
    """
    try:
        with Modern().open(address) as send:
            found = send("server/discover")
    except ServerRefused as error:
        if error.error_code == UNSUPPORTED_PROTOCOL_VERSION:
            check_versions(error)
        return None
    except ServerMisbehaved:
        return None
    versions = found.get("supportedVersions")
    if not isinstance(versions, list) or LATEST_MODERN_VERSION not in versions:
        return None
    return found


def check_versions(error: ServerRefused) -> None:
    """Raise NoCommonVersion if a server names its revisions and we speak none of them."""
    named = named_versions(error)
    if named and not set(HANDSHAKE_PROTOCOL_VERSIONS) & set(named):
        raise NoCommonVersion(f"The MCP server speaks {', '.join(named[:5])}, which is unknown here.")


def named_versions(error: ServerRefused) -> list[str]:
    """Return the revisions that a server says it speaks."""
    named = error.data.get("supported") if isinstance(error.data, dict) else None
    return [str(name)[:40] for name in named] if isinstance(named, list) else []
