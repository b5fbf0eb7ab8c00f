"""HTTP requests to addresses that users and models choose: checked, pinned, capped.

Every hop is parsed strictly, held to the policy, resolved once, and connected to exactly the addresses that were
checked; the name is kept for TLS and the Host header. There is no cookie jar, no proxy and no environment.
"""

from __future__ import annotations

import functools
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from email.message import Message
from typing import Any

import httpcore
import httpx
import structlog

from boundary.connecting import PinnedBackend
from boundary.deadline import Deadline
from boundary.decoding import decode_body
from boundary.errors import (
    BadAnswer,
    ConnectionFailed,
    FetchError,
    InvalidRequest,
    TooLarge,
    TooManyRedirects,
    TooSlow,
)
from boundary.policy import Policy, policy_from_settings
from boundary.resolving import Resolver, SystemResolver
from boundary.urls import Target, join_url, parse_url
from durable import limits
from durable.connections import outside_wait

log = structlog.get_logger(__name__)

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
REDIRECTS = frozenset({301, 302, 303, 307, 308})
OURS = frozenset(
    [
        "host",
        "content-length",
        "transfer-encoding",
        "connection",
        "upgrade",
        "te",
        "trailer",
        "keep-alive",
        "expect",
    ]
)
KEPT_ACROSS_ORIGINS = frozenset({"accept", "accept-language", "user-agent", "content-type"})
USER_AGENT = "Ratchet/1"


@dataclass(frozen=True, kw_only=True)
class UploadPart:
    """One file of a multipart form."""

    field: str
    filename: str
    content: bytes
    media_type: str = "application/octet-stream"


@dataclass(frozen=True, kw_only=True)
class OutboundRequest:
    """What to send. At most one of `body`, `json` and `form` (with or without `files`)."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    json: Any = None
    form: Mapping[str, str] | None = None
    files: tuple[UploadPart, ...] = ()
    timeout: float = limits.FETCH_SECONDS  # for everything together: names, redirects, body
    max_bytes: int = limits.MAX_FETCH_BYTES  # after decompression
    follow_redirects: bool = True
    cut: bool = False  # a longer answer is cut at max_bytes instead of refused


@dataclass(frozen=True, kw_only=True)
class OutboundResponse:
    """What came back."""

    status: int
    url: str  # of the last hop
    headers: tuple[tuple[str, str], ...]  # names in lower case
    body: bytes
    cut: bool = False
    redirects: tuple[str, ...] = field(default=())  # the URLs that led here

    def header(self, name: str) -> str:
        """The values of one header, joined; empty when it is missing."""
        return ", ".join(value for key, value in self.headers if key == name.lower())

    @property
    def content_type(self) -> Message:
        message = Message()
        message["content-type"] = self.header("content-type") or "application/octet-stream"
        return message

    @property
    def media_type(self) -> str:
        return self.content_type.get_content_type()

    @property
    def charset(self) -> str | None:
        return self.content_type.get_content_charset()


@dataclass(frozen=True, kw_only=True)
class Outside:
    """How the outside is reached; tests hand in a resolver or a network of their own."""

    policy: Policy
    resolver: Resolver = field(default_factory=SystemResolver)
    network: httpcore.NetworkBackend = field(default_factory=httpcore.SyncBackend)
    tls: ssl.SSLContext | None = None
    max_seconds: float = limits.MAX_FETCH_SECONDS  # of one request, whatever it asks for itself


def fetch(request: OutboundRequest, outside: Outside | None = None) -> OutboundResponse:
    """Send a request and read the whole answer. Raises a FetchError; an HTTP error status is an answer."""
    outside = outside or Outside(policy=policy_from_settings())
    deadline = Deadline.after(min(max(request.timeout, 0.0), outside.max_seconds))
    target = parse_url(request.url)
    message = encode_request(request, target)
    with outside_wait():
        return follow(message, target, request, outside, deadline)


def follow(
    message: httpx.Request, target: Target, request: OutboundRequest, outside: Outside, deadline: Deadline
) -> OutboundResponse:
    """Send a message and follow the redirects it is answered with, as far as the request wants that."""
    redirects: list[str] = []
    while True:
        response = exchange(message, target, request, outside, deadline)
        location = response.header("location")
        if response.status not in REDIRECTS or not location or not request.follow_redirects:
            return replace(response, redirects=tuple(redirects))
        if len(redirects) == limits.MAX_REDIRECTS:
            raise TooManyRedirects(f"The server redirected more than {limits.MAX_REDIRECTS} times.")
        redirects.append(str(target))
        following = join_url(target, location)
        message = redirect_request(message, response.status, target, following)
        target = following


def encode_request(request: OutboundRequest, target: Target) -> httpx.Request:
    """The bytes of the first hop; raises InvalidRequest for what must not be sent."""
    method = request.method.upper()
    if method not in METHODS:
        raise InvalidRequest(f"{method[:20]!r} is not one of the methods {', '.join(sorted(METHODS))}.")
    if sum(value is not None for value in (request.body, request.json, request.form)) > 1:
        raise InvalidRequest("A request has one body: bytes, JSON or a form.")
    files = [(part.field, (part.filename, part.content, part.media_type)) for part in request.files]
    try:
        message = httpx.Request(
            method,
            str(target),
            headers=clean_headers(request.headers),
            content=request.body,
            json=request.json,
            data=dict(request.form) if request.form is not None else None,
            files=files or None,
        )
        size = len(message.read())
    except (
        httpx.InvalidURL,
        ValueError,
        TypeError,
    ) as error:  # NaN, lone surrogates, types without JSON form
        raise InvalidRequest(f"The request cannot be encoded: {error}.") from error
    if size > limits.MAX_SEND_BYTES:
        raise InvalidRequest(f"The request body is larger than {limits.MAX_SEND_BYTES} bytes.")
    return message


def clean_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The caller's headers over our defaults; framing and routing stay ours."""
    if len(headers) > limits.MAX_REQUEST_HEADERS:
        raise InvalidRequest(f"More than {limits.MAX_REQUEST_HEADERS} headers.")
    clean = {"accept": "*/*", "user-agent": USER_AGENT}
    for name, value in headers.items():
        key = name.strip().lower()
        if key in OURS or key.startswith("proxy-"):
            raise InvalidRequest(f"The header {name[:50]!r} cannot be set.")
        if not key.isascii() or any(
            ord(character) < 32 or ord(character) == 127 for character in name + value
        ):
            raise InvalidRequest(f"The header {name[:50]!r} has characters that cannot be sent.")
        clean[key] = value.strip()
    clean["accept-encoding"] = "gzip, deflate"  # what decode_body can undo with a cap
    return clean


def exchange(
    message: httpx.Request, target: Target, request: OutboundRequest, outside: Outside, deadline: Deadline
) -> OutboundResponse:
    """One hop: check, resolve once, check every address, connect to those, read."""
    outside.policy.check_target(target)
    if target.address is not None:
        addresses = [target.address]
    else:
        seconds = deadline.left(at_most=limits.RESOLVE_SECONDS)
        addresses = outside.resolver.resolve(target.host, target.port, seconds)
    for address in addresses:
        outside.policy.check_address(target, address)
    log.info("outbound request", host=target.host, port=target.port, method=message.method)
    backend = PinnedBackend(addresses, deadline, outside.network)
    tls = outside.tls or public_tls()
    with httpcore.ConnectionPool(
        ssl_context=tls, network_backend=backend, max_keepalive_connections=0
    ) as pool:
        try:
            return read_answer(pool, message, target, request, deadline)
        except httpcore.TimeoutException:
            raise TooSlow from None
        except httpcore.LocalProtocolError as error:
            raise InvalidRequest(f"The request cannot be sent: {error}.") from error
        except (httpcore.NetworkError, ssl.SSLError) as error:
            raise ConnectionFailed(f"The connection to {target.host} failed: {error}.") from error
        except (httpcore.ProtocolError, httpcore.UnsupportedProtocol) as error:
            raise BadAnswer(f"{target.host} does not answer in HTTP: {error}.") from error


def read_answer(
    pool: httpcore.ConnectionPool,
    message: httpx.Request,
    target: Target,
    request: OutboundRequest,
    deadline: Deadline,
) -> OutboundResponse:
    """Send one message over the pool and read its answer up to the cap."""
    url = httpcore.URL(scheme=target.scheme, host=target.host, port=target.port, target=message.url.raw_path)
    with pool.stream(message.method, url, headers=message.headers.raw, content=message.content) as answer:
        headers = tuple(
            (name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in answer.headers
        )
        response = OutboundResponse(status=answer.status, url=str(target), headers=headers, body=b"")
        if message.method == "HEAD" or (answer.status in REDIRECTS and request.follow_redirects):
            return response
        body, cut = read_body(
            decode_body(answer.iter_stream(), response.header("content-encoding")), request, deadline
        )
        return replace(response, body=body, cut=cut)


def read_body(blocks: Iterator[bytes], request: OutboundRequest, deadline: Deadline) -> tuple[bytes, bool]:
    """The body, and whether it was cut."""
    body = bytearray()
    for block in blocks:
        deadline.left()
        body += block
        if len(body) > request.max_bytes:
            if not request.cut:
                raise TooLarge(f"The answer is larger than {request.max_bytes} bytes.")
            del body[request.max_bytes :]
            return bytes(body), True
    return bytes(body), False


def redirect_request(message: httpx.Request, status: int, origin: Target, target: Target) -> httpx.Request:
    """The next hop's message: secrets stay with the origin they were meant for, as browsers decide the method."""
    method = message.method
    if (status == 303 and method != "HEAD") or (status in (301, 302) and method == "POST"):
        method = "GET"
    kept = {
        name: value
        for name, value in message.headers.items()
        if name not in OURS and (origin.origin == target.origin or name in KEPT_ACROSS_ORIGINS)
    }
    body = message.content if method == message.method else b""
    if not body:
        kept.pop("content-type", None)
    kept["accept-encoding"] = message.headers["accept-encoding"]
    following = httpx.Request(method, str(target), headers=kept, content=body or None)
    following.read()
    return following


@functools.cache
def public_tls() -> ssl.SSLContext:
    """Certificates of the public authorities; the environment's SSL_CERT_FILE is not read."""
    return httpx.create_ssl_context(trust_env=False)


__all__ = ["FetchError", "OutboundRequest", "OutboundResponse", "Outside", "UploadPart", "fetch"]
