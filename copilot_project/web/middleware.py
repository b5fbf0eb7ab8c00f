"""Middleware: request ids and trace spans, unreadable requests, untrusted headers, the content security policy."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from http import HTTPStatus
from typing import cast

from asgiref.sync import iscoroutinefunction
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware
from rest_framework.exceptions import APIException

from accounts.client_address import is_trusted_proxy
from copilot_project.web.http_errors import BadRequest, LengthRequired
from copilot_project.web.pages import answer
from copilot_project.web.request_id import current_request_id, identify
from durable import storable, tracing

UNTRACED = frozenset({"/healthz", "/readyz", "/metrics"})
Handler = Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]
FORWARDED_PROTO = "HTTP_X_FORWARDED_PROTO"
POLICY_HEADER = "Content-Security-Policy"
STRICT = (
    "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; "
    "frame-ancestors 'none'; form-action 'self'"
)
# The API documentation sets styles from scripts, and the search of Redoc runs in a worker from a blob.
API_DOCS = f"{STRICT}; style-src 'self' 'unsafe-inline'; worker-src 'self' blob:"
DOCS_PATHS = ("/api/docs/", "/api/redoc/")
# The frame that draws diagrams: scripts of this site without an origin of their own, so that whatever a diagram makes
# them do reaches no cookie, no page and no network. Its styles are its own.
DIAGRAMS = (
    "sandbox allow-scripts; default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; "
    "frame-ancestors 'self'; base-uri 'none'; form-action 'none'"
)
DIAGRAM_PATH = "/static/ui/diagram.html"


@sync_and_async_middleware
def screen(get_response: Handler) -> Handler:
    """Set X-Request-ID on every response and log line, and refuse requests that cannot be read.

    The id is not reset at the end: a stream continues after this function has returned, and the next request sets
    its own.
    """
    if iscoroutinefunction(get_response):

        async def screen_async(request: HttpRequest) -> HttpResponseBase:
            name, problem = identify(request), find_problem(request)
            if problem:
                return signed(answer(request, problem), name)
            with traced(request) as span:
                response = await cast(Awaitable[HttpResponseBase], get_response(request))
                record(span, request, response)
            return signed(response, name)

        return screen_async

    def screen_sync(request: HttpRequest) -> HttpResponseBase:
        name, problem = identify(request), find_problem(request)
        if problem:
            return signed(answer(request, problem), name)
        with traced(request) as span:
            response = cast(HttpResponseBase, get_response(request))
            record(span, request, response)
        return signed(response, name)

    return screen_sync


def find_problem(request: HttpRequest) -> APIException | None:
    """Return why the request cannot be read: a NUL, which no database stores, or a body of unknown length.

    Django reads a body without Content-Length as empty, which would silently drop what was sent.
    """
    if not storable.is_text(request.path_info) or "%00" in request.META.get("QUERY_STRING", ""):
        return BadRequest("The address contains a NUL character. Remove it.")
    if "Transfer-Encoding" in request.headers and not request.headers.get("Content-Length"):
        return LengthRequired()
    return None


def traced(request: HttpRequest) -> AbstractContextManager[tracing.TraceSpan]:
    """Return the span of the request, up to the first byte of its response; none for health checks."""
    if request.path_info in UNTRACED or request.path_info.startswith(settings.STATIC_URL):
        return tracing.NOTHING
    attributes = {"http.request.method": request.method or "", "ratchet.request_id": current_request_id()}
    return tracing.request(request.method or "", attributes, request.headers.get("traceparent", ""))


def record(span: tracing.TraceSpan, request: HttpRequest, response: HttpResponseBase) -> None:
    """Add the status and the route to the span, not the URL, as some URLs are secrets."""
    span.set({"http.response.status_code": response.status_code})
    if request.resolver_match is not None:
        route = f"/{request.resolver_match.route}"
        span.set({"http.route": route})
        span.rename(f"{request.method} {route}")
    if response.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        span.fail(str(response.status_code))


def signed(response: HttpResponseBase, name: str) -> HttpResponseBase:
    response["X-Request-ID"] = name
    return response


# --- changes to every request or response ----------------------------------------------------------


@sync_and_async_middleware
def drop_untrusted_headers(get_response: Handler) -> Handler:
    """Remove X-Forwarded-Proto unless a trusted proxy sent it; Django would believe any client."""
    return changing(get_response, before=drop_forwarded_proto)


@sync_and_async_middleware
def protect(get_response: Handler) -> Handler:
    """Forbid foreign content, inline scripts and framing on every response, including errors."""
    return changing(get_response, after=add_policy)


def unchanged(request: HttpRequest, response: HttpResponseBase | None = None) -> None:
    """Change nothing."""


def changing(
    get_response: Handler,
    *,
    before: Callable[[HttpRequest], None] = unchanged,
    after: Callable[[HttpRequest, HttpResponseBase], None] = unchanged,
) -> Handler:
    """Return the handler with a change of its request or response, in whichever way it is called."""
    if iscoroutinefunction(get_response):

        async def handle_async(request: HttpRequest) -> HttpResponseBase:
            before(request)
            response = await cast(Awaitable[HttpResponseBase], get_response(request))
            after(request, response)
            return response

        return handle_async

    def handle(request: HttpRequest) -> HttpResponseBase:
        before(request)
        response = cast(HttpResponseBase, get_response(request))
        after(request, response)
        return response

    return handle


def drop_forwarded_proto(request: HttpRequest) -> None:
    if FORWARDED_PROTO in request.META and not is_trusted_proxy(str(request.META.get("REMOTE_ADDR", ""))):
        del request.META[FORWARDED_PROTO]


def add_policy(request: HttpRequest, response: HttpResponseBase) -> None:
    if POLICY_HEADER not in response:
        response[POLICY_HEADER] = policy_of(request.path)
    response.setdefault("Permissions-Policy", "camera=(), geolocation=(), payment=(), usb=()")


def policy_of(path: str) -> str:
    """Return the content security policy of the page at this path."""
    if path == DIAGRAM_PATH:
        return DIAGRAMS
    return API_DOCS if path.startswith(DOCS_PATHS) else STRICT
