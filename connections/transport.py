"""One JSON-RPC message to an MCP server and its response, over the guarded HTTP client."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from boundary.errors import BlockedUrl, FetchError, InvalidRequest, ResponseTooLarge
from boundary.http import OutboundRequest, OutboundResponse, Outside, fetch
from boundary.policy import policy_from_settings
from connections import limits
from connections.errors import (
    ServerMisbehaved,
    ServerRefused,
    ServerUnreachable,
    SignInNeeded,
    ToolServerError,
)
from connections.event_stream import EventStream, Message, is_response, parse_message
from connections.revisions import INTERNAL_ERROR, METHOD_NOT_FOUND

ACCEPT = "application/json, text/event-stream"
EVENTS = "text/event-stream"
REDIRECTS = range(300, 400)


@dataclass(frozen=True, kw_only=True)
class Address:
    """Where a server is, and the headers that open it."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, kw_only=True)
class ServerReply:
    """The result of a request, and the session that the server opened with it."""

    result: Message
    session_id: str = ""


def request(
    address: Address,
    method: str,
    params: Mapping[str, Any],
    *,
    headers: Mapping[str, str],
    seconds: float = limits.SERVER_REQUEST_SECONDS,
) -> ServerReply:
    """Send one request and return its result; raises ToolServerError. Reads no more than the response."""
    request_id = uuid.uuid4().hex
    message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": dict(params)}
    stream = EventStream(request_id)
    response = post(address, message, headers=headers, seconds=seconds, stream=stream)
    answer = find_answer(response, stream)
    if answer is None:
        raise refusal_without_words(response)
    error = answer.get("error")
    if isinstance(error, dict):
        raise refusal(error)
    result = answer.get("result")
    if response.status >= 400 or not isinstance(result, dict):
        raise refusal_without_words(response)
    return ServerReply(result=result, session_id=response.header("mcp-session-id"))


def notify(address: Address, method: str, *, headers: Mapping[str, str]) -> None:
    """Send a notification; raises ToolServerError if it could not be delivered."""
    post(
        address,
        {"jsonrpc": "2.0", "method": method},
        headers=headers,
        seconds=limits.SERVER_REQUEST_SECONDS,
    )


def close_session(address: Address, headers: Mapping[str, str]) -> None:
    """Tell the server that its session is over; a server that does not care is no failure."""
    try:
        send(OutboundRequest(url=address.url, method="DELETE", headers={**address.headers, **headers}))
    except ToolServerError:
        return


def post(
    address: Address,
    message: Message,
    *,
    headers: Mapping[str, str],
    seconds: float,
    stream: EventStream | None = None,
) -> OutboundResponse:
    """Post a message; raises SignInNeeded, ServerUnreachable. Redirects are not followed: the address is approved."""
    response = send(
        OutboundRequest(
            url=address.url,
            method="POST",
            headers={"Accept": ACCEPT, **headers, **address.headers},
            json=message,
            timeout=seconds,
            max_bytes=limits.MAX_SERVER_ANSWER_BYTES,
            follow_redirects=False,
            is_complete=stream.feed if stream is not None else None,
        ),
        seconds,
    )
    if response.status == 401:
        raise SignInNeeded(challenge=response.header("www-authenticate"))
    if response.status == 403 and "insufficient_scope" in response.header("www-authenticate"):
        raise SignInNeeded(
            "The MCP server wants a sign-in with more rights. Sign in again under Connections.",
            challenge=response.header("www-authenticate"),
        )
    if response.status in REDIRECTS:
        raise ServerMisbehaved(
            f"The MCP server redirects to {response.header('location')[:200]!r}. Add that address instead."
        )
    if response.status >= 500 or response.status == 429:
        raise ServerUnreachable(f"The MCP server answered with status {response.status}.")
    return response


def send(wanted: OutboundRequest, seconds: float = limits.SERVER_REQUEST_SECONDS) -> OutboundResponse:
    """Send through the boundary; raises ServerUnreachable, or ServerMisbehaved for what trying again cannot help."""
    try:
        return fetch(wanted, Outside(policy=policy_from_settings(), max_seconds=seconds))
    except (BlockedUrl, InvalidRequest, ResponseTooLarge) as error:
        raise ServerMisbehaved(str(error)) from None
    except FetchError as error:
        raise ServerUnreachable(str(error)) from None


def find_answer(response: OutboundResponse, stream: EventStream) -> Message | None:
    """Return the message that answers the request: of the event stream, or the body."""
    if response.media_type == EVENTS:
        stream.feed(b"\n\n")  # the last event may lack its empty line
        return next((found for found in stream.messages if is_response(found, stream.request_id)), None)
    if response.media_type != "application/json":
        return None
    try:
        found = json.loads(response.body)
    except (ValueError, RecursionError):
        return None
    batch = found if isinstance(found, list) else [found]
    return next(
        (part for part in batch if isinstance(part, dict) and is_response(part, stream.request_id)), None
    )


def refusal(error: Message) -> ServerRefused:
    code = error.get("code")
    return ServerRefused(
        str(error.get("message") or "The MCP server gave no reason.")[: limits.MAX_REPORTED_ERROR_CHARACTERS],
        error_code=code if isinstance(code, int) else INTERNAL_ERROR,
        data=error.get("data"),
    )


def refusal_without_words(response: OutboundResponse) -> ToolServerError:
    """Return the error for a response that is no JSON-RPC: the status says what it means."""
    if response.status in (404, 405):
        return ServerRefused(
            f"The MCP server answered with status {response.status}: there is no MCP server at this address.",
            error_code=METHOD_NOT_FOUND,
        )
    if response.status >= 400:
        return ServerRefused(
            f"The MCP server answered with status {response.status}.", error_code=INTERNAL_ERROR
        )
    return ServerMisbehaved(
        f"The MCP server answered with {response.media_type} and without a response to the request."
    )


__all__ = ["Address", "ServerReply", "close_session", "notify", "parse_message", "request"]
