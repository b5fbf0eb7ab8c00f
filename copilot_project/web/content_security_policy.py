"""The content security policy of pages that do not set their own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import cast

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

Handler = Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]
HEADER = "Content-Security-Policy"
STRICT = (
    "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; "
    "frame-ancestors 'none'; form-action 'self'"
)
# The API documentation sets styles from scripts, and the search of Redoc runs in a worker from a blob.
API_DOCS = f"{STRICT}; style-src 'self' 'unsafe-inline'; worker-src 'self' blob:"
DOCS_PATHS = ("/api/docs/", "/api/redoc/")


@sync_and_async_middleware
def protect(get_response: Handler) -> Handler:
    """Forbid foreign content, inline scripts and framing on every response, including errors."""
    if iscoroutinefunction(get_response):

        async def protect_async(request: HttpRequest) -> HttpResponseBase:
            return protected(request, await cast(Awaitable[HttpResponseBase], get_response(request)))

        return protect_async

    def protect_sync(request: HttpRequest) -> HttpResponseBase:
        return protected(request, cast(HttpResponseBase, get_response(request)))

    return protect_sync


def protected(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    if HEADER not in response:
        response[HEADER] = API_DOCS if request.path.startswith(DOCS_PATHS) else STRICT
    response.setdefault("Permissions-Policy", "camera=(), geolocation=(), payment=(), usb=()")
    return response
