"""Messages of JSON-RPC as they come, checked in shape and size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from chat.threads import in_parser_thread, in_thread
from doors.mcp import limits
from doors.mcp.errors import BadParams, NotARequest, UnreadableMessage
from durable import storable

MessageId = str | int
VERSION = "2.0"


@dataclass(frozen=True, kw_only=True)
class RpcRequest:
    """A request that is owed one response."""

    id: MessageId
    method: str
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class RpcNotification:
    """A message that is not answered."""

    method: str
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class RpcAnswer:
    """The client's answer to a request of ours; `result` is None if it failed."""

    id: MessageId
    result: Mapping[str, Any] | None


RpcMessage = RpcRequest | RpcNotification | RpcAnswer


async def read(raw: bytes) -> RpcMessage:
    """Return the message of a body; raise UnreadableMessage, NotARequest or BadParams."""
    if len(raw) <= limits.MAX_PARSED_ON_LOOP_BYTES:
        return parse(decode(raw))
    return await in_parser_thread(parse, await in_thread(decode, raw))


def decode(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise UnreadableMessage("The body is not UTF-8.") from None


def parse(text: str) -> RpcMessage:
    try:
        body = storable.loads(text)
        storable.check(body, max_depth=limits.MAX_MCP_DEPTH)
    except storable.NotStorable as error:
        raise NotARequest(f"The body cannot be stored: {error}.") from None
    except (ValueError, RecursionError):
        raise UnreadableMessage from None
    if not isinstance(body, dict) or body.get("jsonrpc") != VERSION:
        raise NotARequest
    return answer_of(body) if "method" not in body else request_of(body)


def request_of(body: Mapping[str, Any]) -> RpcRequest | RpcNotification:
    method, params = body["method"], body.get("params", {})
    if not isinstance(method, str):
        raise NotARequest("`method` must be a text.")
    if not isinstance(params, dict):
        raise BadParams("`params` must be an object.")
    if "id" not in body:
        return RpcNotification(method=method, params=params)
    return RpcRequest(id=checked_id(body["id"]), method=method, params=params)


def answer_of(body: Mapping[str, Any]) -> RpcAnswer:
    if "id" not in body or ("result" not in body and "error" not in body):
        raise NotARequest
    result = body.get("result")
    return RpcAnswer(id=checked_id(body["id"]), result=result if isinstance(result, dict) else None)


def checked_id(value: object) -> MessageId:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise NotARequest("`id` must be a text or a whole number.")
    if isinstance(value, str) and len(value) > limits.MAX_REQUEST_ID_CHARACTERS:
        raise NotARequest(f"`id` must have at most {limits.MAX_REQUEST_ID_CHARACTERS} characters.")
    return value


def id_in(raw: bytes) -> MessageId | None:
    """Return the id of a body that was refused, for the response to it; None if it cannot be found."""
    if len(raw) > limits.MAX_PARSED_ON_LOOP_BYTES:
        return None
    try:
        body = storable.loads(raw)
        return checked_id(body["id"]) if isinstance(body, dict) else None
    except (ValueError, RecursionError, KeyError, NotARequest):
        return None


def response(request_id: MessageId | None, result: Mapping[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": VERSION, "id": request_id, "result": result}


def error_response(request_id: MessageId | None, error: Mapping[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": VERSION, "id": request_id, "error": error}


def notification(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": VERSION, "method": method, "params": params}
