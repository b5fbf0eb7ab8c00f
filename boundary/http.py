"""HTTP requests to addresses chosen by users and models: checked, pinned and limited.

Every hop is parsed strictly, checked against the policy and resolved once, and only the checked addresses are
connected to; the host name is used for TLS and the Host header. Cookies, proxies and environment variables are not
used.
"""

from __future__ import annotations

import functools
import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from email.message import Message
from typing import Any

import httpcore
import httpx
import structlog

from boundary import limits
from boundary.addresses import Resolver, SystemResolver
from boundary.content_encoding import decode_body
from boundary.errors import (
    BadAnswer,
    ConnectionFailed,
    FetchError,
    InvalidRequest,
    ResponseTooLarge,
    TooManyRedirects,
    TooSlow,
)
from boundary.pinned_connections import Deadline, PinnedBackend
from boundary.policy import NetworkPolicy, policy_from_settings
from boundary.urls import Target, join_url, parse_url
from durable.database import outside_wait

log = structlog.get_logger(__name__)

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
REDIRECTS = frozenset({301, 302, 303, 307, 308})
OURS = frozenset(
    (
        *("host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer"),
        *("keep-alive", "expect"),
    )
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
    """A request to send, with at most one of `body`, `json` and `form` (optionally with `files`)."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    json: Any = None
    form: Mapping[str, str] | None = None
    files: tuple[UploadPart, ...] = ()
    timeout: float = limits.FETCH_SECONDS  # for the whole exchange: resolving, redirects and body
    max_bytes: int = limits.MAX_FETCH_BYTES  # after decompression
    follow_redirects: bool = True
    cut: bool = False  # truncate a longer response at max_bytes instead of raising ResponseTooLarge
    is_complete: Callable[[bytes], bool] | None = None  # given each block of a stream; True ends it


@dataclass(frozen=True, kw_only=True)
class OutboundResponse:
    """A response, read completely."""

    status: int
    url: str  # of the last hop
    headers: tuple[tuple[str, str], ...]  # names in lower case
    body: bytes
    cut: bool = False
    redirects: tuple[str, ...] = field(default=())  # URLs that redirected to `url`

    def header(self, name: str) -> str:
        """Return the values of one header, joined; "" if it is missing."""
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
    """How the outside is reached; tests pass their own resolver and network."""

    policy: NetworkPolicy
    resolver: Resolver = field(default_factory=SystemResolver)
    network: httpcore.NetworkBackend = field(default_factory=httpcore.SyncBackend)
    tls: ssl.SSLContext | None = None
    max_seconds: float = limits.MAX_FETCH_SECONDS  # upper limit for any request's timeout


def fetch(request: OutboundRequest, outside: Outside | None = None) -> OutboundResponse:
    """Send a request and return the response, whatever its status; raise FetchError if there is none."""
    outside = outside or Outside(policy=policy_from_settings())
    deadline = Deadline.after(min(max(request.timeout, 0.0), outside.max_seconds))
    target = parse_url(request.url)
    message = encode_request(request, target)
    with outside_wait():
        return follow(message, target, request, outside, deadline)


def follow(
    message: httpx.Request, target: Target, request: OutboundRequest, outside: Outside, deadline: Deadline
) -> OutboundResponse:
    """Send a message and follow redirects if the request allows it."""
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
    """Encode the first hop; raise InvalidRequest for a request that must not be sent."""
    method = request.method.upper()
    if method not in METHODS:
        raise InvalidRequest(
            f"{method[:20]!r} is not a supported method. Use one of {', '.join(sorted(METHODS))}."
        )
    if sum(value is not None for value in (request.body, request.json, request.form)) > 1:
        raise InvalidRequest("A request can have only one body: bytes, JSON or a form.")
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
    except (httpx.InvalidURL, ValueError, TypeError) as error:  # such as NaN or lone surrogates
        raise InvalidRequest(f"The request cannot be encoded: {error}.") from error
    if size > limits.MAX_SEND_BYTES:
        raise InvalidRequest(f"The request body is larger than {limits.MAX_SEND_BYTES} bytes.")
    return message


def clean_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Merge the caller's headers with our defaults; framing and routing headers cannot be set."""
    if len(headers) > limits.MAX_REQUEST_HEADERS:
        raise InvalidRequest(f"The request has more than {limits.MAX_REQUEST_HEADERS} headers.")
    clean = {"accept": "*/*", "user-agent": USER_AGENT}
    for name, value in headers.items():
        key = name.strip().lower()
        if key in OURS or key.startswith("proxy-"):
            raise InvalidRequest(f"The header {name[:50]!r} cannot be set.")
        if not key.isascii() or any(
            ord(character) < 32 or ord(character) == 127 for character in name + value
        ):
            raise InvalidRequest(f"The header {name[:50]!r} contains characters that cannot be sent.")
        clean[key] = value.strip()
    clean["accept-encoding"] = "gzip, deflate"  # the encodings that decode_body supports
    return clean


def exchange(
    message: httpx.Request, target: Target, request: OutboundRequest, outside: Outside, deadline: Deadline
) -> OutboundResponse:
    """Do one hop: check the target, resolve it once, check every address, connect and read."""
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
            raise BadAnswer(f"{target.host} did not respond with valid HTTP: {error}.") from error


def read_answer(
    pool: httpcore.ConnectionPool,
    message: httpx.Request,
    target: Target,
    request: OutboundRequest,
    deadline: Deadline,
) -> OutboundResponse:
    """Send one message over the pool and read the response up to the size limit."""
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
    """Return the body and whether it was truncated."""
    body = bytearray()
    for block in blocks:
        deadline.left()
        body += block
        if len(body) > request.max_bytes:
            if not request.cut:
                raise ResponseTooLarge(f"The response is larger than {request.max_bytes} bytes.")
            del body[request.max_bytes :]
            return bytes(body), True
        if request.is_complete is not None and request.is_complete(block):
            break
    return bytes(body), False


def redirect_request(message: httpx.Request, status: int, origin: Target, target: Target) -> httpx.Request:
    """Return the message of the next hop. Secrets stay with their origin; the method changes as in browsers."""
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
    """Return a context that trusts the public authorities; the SSL_CERT_FILE variable is ignored."""
    return httpx.create_ssl_context(trust_env=False)


__all__ = ["FetchError", "OutboundRequest", "OutboundResponse", "Outside", "UploadPart", "fetch"]
