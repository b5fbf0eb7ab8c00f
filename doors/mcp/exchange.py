"""One request with who sent it and what its client can do; nothing of it outlives the response."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.core import signing

from doors.callers import Caller
from doors.mcp import limits, protocol
from doors.mcp.errors import BadParams, HeaderDiffers, NotARequest, VersionUnsupported
from doors.mcp.messages import MessageId, RpcRequest
from durable import storable

SALT = "doors.mcp.session"
ENCODED_BEGIN, ENCODED_END = "=?base64?", "?="
NAMED_CAPABILITIES = ("elicitation", "tasks", "extensions")


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """A request, its caller, and the version and capabilities its client has declared."""

    request: RpcRequest
    caller: Caller
    version: str
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    accepts_stream: bool = True
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_modern(self) -> bool:
        return self.version == protocol.MODERN

    @property
    def id(self) -> MessageId:
        return self.request.id

    @property
    def params(self) -> Mapping[str, Any]:
        return self.request.params

    @property
    def meta(self) -> Mapping[str, Any]:
        found = self.params.get("_meta")
        return found if isinstance(found, dict) else {}

    @property
    def has_tasks(self) -> bool:
        """Whether the client takes a task instead of a result; of older clients only those that ask for one."""
        if not self.is_modern:
            return isinstance(self.params.get("task"), dict)
        extensions = self.capabilities.get("extensions")
        return isinstance(extensions, dict) and isinstance(extensions.get(protocol.TASKS), dict)

    @property
    def has_elicitation(self) -> bool:
        """Whether the client can ask its user to fill in a form; an empty declaration means forms."""
        found = self.capabilities.get("elicitation")
        return isinstance(found, dict) and (not found or "form" in found)

    @property
    def progress_token(self) -> str | int | None:
        token = self.meta.get("progressToken")
        return token if isinstance(token, str | int) and not isinstance(token, bool) else None

    def text(self, name: str, *, most: int = 2_000) -> str:
        """Return a parameter that must be a text; raise BadParams."""
        found = self.params.get(name)
        if not isinstance(found, str) or not found:
            raise BadParams(f"`{name}` must be a text.")
        if len(found) > most:
            raise BadParams(f"`{name}` must have at most {most:,} characters.")
        return found

    def mapping(self, name: str) -> Mapping[str, Any]:
        """Return a parameter that must be an object, empty if it is missing; raise BadParams."""
        found = self.params.get(name)
        if found is None:
            return {}
        if not isinstance(found, dict):
            raise BadParams(f"`{name}` must be an object.")
        return found


# --- the era of a request -------------------------------------------------------------------------


def is_modern(request: RpcRequest, headers: Mapping[str, str]) -> bool:
    """Return whether a request declares its version by itself, as requests do since 2026-07-28."""
    meta = request.params.get("_meta")
    if isinstance(meta, dict) and protocol.META_VERSION in meta:
        return True
    named = headers.get(protocol.VERSION_HEADER)
    return named is not None and named not in protocol.HANDSHAKE and request.method != "initialize"


def modern(
    request: RpcRequest, headers: Mapping[str, str], caller: Caller, *, accepts_stream: bool
) -> Exchange:
    """Return the exchange of a request that stands alone; raise if its headers and body do not agree."""
    meta = request.params.get("_meta")
    if not isinstance(meta, dict):
        raise BadParams("`params._meta` must name the protocol's version and the client's capabilities.")
    missing = [name for name in (protocol.META_VERSION, protocol.META_CAPABILITIES) if name not in meta]
    if missing:
        raise BadParams(f"`params._meta` has no `{missing[0]}`.")
    version, capabilities = meta[protocol.META_VERSION], meta[protocol.META_CAPABILITIES]
    if not isinstance(version, str) or not isinstance(capabilities, dict):
        raise BadParams("The version must be a text, and the capabilities an object.")
    check_headers(request, headers, version)
    if version != protocol.MODERN:
        raise VersionUnsupported(version, [protocol.MODERN])
    return Exchange(
        request=request,
        caller=caller,
        version=version,
        capabilities=capabilities,
        accepts_stream=accepts_stream,
        headers=headers,
    )


def check_headers(request: RpcRequest, headers: Mapping[str, str], version: str) -> None:
    """Raise HeaderDiffers unless the headers say what the body says, so that proxies may believe them."""
    if headers.get(protocol.VERSION_HEADER) != version:
        raise HeaderDiffers(f"`{protocol.VERSION_HEADER}` must be the version that `params._meta` names.")
    if headers.get(protocol.METHOD_HEADER, "").strip() != request.method:
        raise HeaderDiffers(f"`{protocol.METHOD_HEADER}` must be the method of the body.")
    field_name = protocol.NAMED_BY.get(request.method)
    named = request.params.get(field_name) if field_name else None
    if named is not None and decoded(headers.get(protocol.NAME_HEADER)) != named:
        raise HeaderDiffers(f"`{protocol.NAME_HEADER}` must be `params.{field_name}` of the body.")


def decoded(value: str | None) -> str | None:
    """Return the text of a header, which is base64 where it has other characters; None for a malformed one."""
    text = value.strip() if value else value
    if not text or not (text.startswith(ENCODED_BEGIN) and text.endswith(ENCODED_END)):
        return text
    try:
        payload = text.removeprefix(ENCODED_BEGIN).removesuffix(ENCODED_END)
        return base64.b64decode(payload, validate=True).decode()
    except (binascii.Error, ValueError):
        return None


def check_parameters(exchange: Exchange, schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
    """Raise HeaderDiffers unless `Mcp-Param-*` say what the arguments say that a tool mirrors into headers."""
    for name, field_schema in (schema.get("properties") or {}).items():
        header = field_schema.get(protocol.MIRRORED) if isinstance(field_schema, dict) else None
        if not isinstance(header, str) or not exchange.is_modern:
            continue
        said, value = exchange.headers.get(f"{protocol.PARAMETER_PREFIX}{header}"), arguments.get(name)
        if (said is None) != (value is None) or (said is not None and decoded(said) != as_header(value)):
            raise HeaderDiffers(f"`{protocol.PARAMETER_PREFIX}{header}` must be the argument `{name}`.")


def as_header(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def older(
    request: RpcRequest, headers: Mapping[str, str], caller: Caller, *, accepts_stream: bool
) -> Exchange:
    """Return the exchange of a client that began with a handshake; its session id says what it declared then."""
    version = headers.get(protocol.VERSION_HEADER, protocol.HANDSHAKE[0])
    if version not in protocol.HANDSHAKE:
        raise NotARequest(f"This server speaks {', '.join((protocol.MODERN, *protocol.HANDSHAKE))}.")
    return Exchange(
        request=request,
        caller=caller,
        version=version,
        capabilities=capabilities_in(headers.get(protocol.SESSION_HEADER, ""), caller),
        accepts_stream=accepts_stream,
    )


def session_id(caller: Caller, capabilities: Mapping[str, Any]) -> str:
    """Return an id that carries what the client can do, signed, so that no process has to remember it."""
    said = {name: named(capabilities[name]) for name in NAMED_CAPABILITIES if name in capabilities}
    return signing.dumps({"user": caller.user.pk, "capabilities": said}, salt=SALT)


def named(capability: Any) -> dict[str, Any]:
    """Return a capability without its settings, which nobody here reads."""
    if not isinstance(capability, dict):
        return {}
    return {storable.text(str(name), most=100): {} for name in list(capability)[:20]}


def capabilities_in(text: str, caller: Caller) -> Mapping[str, Any]:
    """Return what a session id says; nothing for another person's, an old or a forged one."""
    if not text:
        return {}
    try:
        said = signing.loads(text, salt=SALT, max_age=limits.SESSION_ID_SECONDS)
    except signing.BadSignature:
        return {}
    return said["capabilities"] if said["user"] == caller.user.pk else {}
