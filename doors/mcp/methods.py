"""The methods of the protocol that are answered at once, by name and era."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from doors.callers import Caller
from doors.mcp import calls, limits, protocol, registry, tasks
from doors.mcp.errors import BadParams, UnknownMethod
from doors.mcp.exchange import Exchange
from doors.mcp.outcomes import NeededInput

Method = Callable[[Exchange], Mapping[str, Any]]
CACHED = {"ttlMs": limits.LIST_TTL_MILLISECONDS, "cacheScope": "private"}
UNCACHED = {"ttlMs": 0, "cacheScope": "private"}


def answer(exchange: Exchange) -> dict[str, Any]:
    """Return the result of a request; raise UnknownMethod."""
    known = MODERN if exchange.is_modern else OLDER
    method = known.get(exchange.request.method)
    if method is None:
        raise UnknownMethod(f"This server does not have the method {exchange.request.method[:100]!r}.")
    found = dict(method(exchange))
    if not exchange.is_modern:
        return {name: value for name, value in found.items() if name not in ("ttlMs", "cacheScope")}
    return {"resultType": "complete"} | found | {"_meta": {protocol.META_SERVER: protocol.server_info()}}


# --- beginning ------------------------------------------------------------------------------------


def capabilities(caller: Caller) -> dict[str, Any]:
    """Return what this server has; prompts and completions only if an installed app offers some."""
    found: dict[str, Any] = {"tools": {}, "resources": {}}
    if registry.prompts_of(caller):
        found["prompts"] = {}
    if any(provider.completes(caller) for provider in registry.all_providers()):
        found["completions"] = {}
    return found


def discover(exchange: Exchange) -> Mapping[str, Any]:
    extended = capabilities(exchange.caller) | {"extensions": {protocol.TASKS: {}}}
    return {
        "supportedVersions": [protocol.MODERN],
        "capabilities": extended,
        "instructions": protocol.INSTRUCTIONS,
        **CACHED,
    }


def initialize(exchange: Exchange) -> Mapping[str, Any]:
    """Answer a handshake with the version asked for, or the newest that begins with one."""
    asked = exchange.params.get("protocolVersion")
    version = asked if asked in protocol.HANDSHAKE else protocol.HANDSHAKE[0]
    own = capabilities(exchange.caller)
    if version == protocol.HANDSHAKE[0]:
        own["tasks"] = {"cancel": {}, "requests": {"tools": {"call": {}}}}
    return {
        "protocolVersion": version,
        "capabilities": own,
        "serverInfo": protocol.server_info(),
        "instructions": protocol.INSTRUCTIONS,
    }


def ping(exchange: Exchange) -> Mapping[str, Any]:
    return {}


# --- tools and prompts ----------------------------------------------------------------------------


def list_tools(exchange: Exchange) -> Mapping[str, Any]:
    found = [tool.as_json() for tool in registry.tools_of(exchange.caller)]
    if exchange.version == protocol.HANDSHAKE[0]:
        found = [tool | {"execution": {"taskSupport": "optional"}} for tool in found]
    return page(exchange, "tools", found) | CACHED


def list_prompts(exchange: Exchange) -> Mapping[str, Any]:
    require(exchange, "prompts")
    return (
        page(exchange, "prompts", [prompt.as_json() for prompt in registry.prompts_of(exchange.caller)])
        | CACHED
    )


def get_prompt(exchange: Exchange) -> Mapping[str, Any]:
    require(exchange, "prompts")
    prompt = registry.find_prompt(exchange.caller, exchange.text("name"))
    found = prompt.get(calls.read(exchange))
    if isinstance(found, NeededInput):
        return calls.needed(exchange, found)
    return {"description": prompt.description, "messages": list(found)}


def complete(exchange: Exchange) -> Mapping[str, Any]:
    require(exchange, "completions")
    ref, argument = exchange.mapping("ref"), exchange.mapping("argument")
    if not ref or not argument:
        raise BadParams("`ref` and `argument` must be objects.")
    caller, providers = exchange.caller, registry.all_providers()
    values = [value for provider in providers for value in provider.complete(caller, ref, argument)]
    return {"completion": {"values": values[:100], "total": len(values), "hasMore": len(values) > 100}}


def require(exchange: Exchange, capability: str) -> None:
    if capability not in capabilities(exchange.caller):
        raise UnknownMethod(f"This server does not have the method {exchange.request.method!r}.")


def page(exchange: Exchange, name: str, items: Sequence[Any]) -> dict[str, Any]:
    """Return the part of a list that the cursor asks for; raise BadParams for one that is not ours."""
    cursor = exchange.params.get("cursor")
    start = 0 if cursor is None else number_in(cursor)
    end = start + limits.LISTED_PER_PAGE
    found: dict[str, Any] = {name: list(items[start:end])}
    return found | ({"nextCursor": cursor_of(str(end))} if end < len(items) else {})


def cursor_of(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode()


def text_in(cursor: object) -> str:
    try:
        return base64.urlsafe_b64decode(str(cursor).encode()).decode()
    except (binascii.Error, ValueError):
        raise BadParams("`cursor` is not one that this server has sent.") from None


def number_in(cursor: object) -> int:
    text = text_in(cursor)
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise BadParams("`cursor` is not one that this server has sent.")
    return int(text)


# --- resources ------------------------------------------------------------------------------------


def list_resources(exchange: Exchange) -> Mapping[str, Any]:
    """Return a page of the resources of one provider after the other."""
    cursor = exchange.params.get("cursor")
    place, _, rest = text_in(cursor).partition(":") if cursor is not None else ("0", "", "")
    providers = registry.all_providers()
    if not (place.isascii() and place.isdecimal() and len(place) < 4):
        raise BadParams("`cursor` is not one that this server has sent.")
    for index in range(int(place), len(providers)):
        found = providers[index].resources(exchange.caller, rest or None)
        rest = ""
        following = f"{index}:{found.next}" if found.next else f"{index + 1}:"
        if found.resources or found.next:
            is_last = not found.next and index + 1 >= len(providers)
            more = {} if is_last else {"nextCursor": cursor_of(following)}
            return {"resources": list(found.resources), **more, **CACHED}
    return {"resources": [], **CACHED}


def list_templates(exchange: Exchange) -> Mapping[str, Any]:
    found = [template for provider in registry.all_providers() for template in provider.templates()]
    return page(exchange, "resourceTemplates", found) | CACHED


def read_resource(exchange: Exchange) -> Mapping[str, Any]:
    uri = exchange.text("uri")
    for provider in registry.all_providers():
        contents = provider.read(exchange.caller, uri)
        if contents is not None:
            return {"contents": list(contents), **UNCACHED}
    raise BadParams("There is no such resource, or it is not yours.", data={"uri": uri})


SHARED: dict[str, Method] = {
    "tools/list": list_tools,
    "prompts/list": list_prompts,
    "prompts/get": get_prompt,
    "completion/complete": complete,
    "resources/list": list_resources,
    "resources/templates/list": list_templates,
    "resources/read": read_resource,
    "tasks/get": tasks.get,
    "tasks/cancel": tasks.cancel,
}
MODERN: dict[str, Method] = SHARED | {"server/discover": discover, "tasks/update": tasks.update}
OLDER: dict[str, Method] = SHARED | {"initialize": initialize, "ping": ping}
