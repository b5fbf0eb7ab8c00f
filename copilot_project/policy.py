"""The content security policy of every page that does not bring its own."""

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
# The pages of API documentation set styles from their scripts; Redoc's search works in a worker of its own making.
API_DOCS = f"{STRICT}; style-src 'self' 'unsafe-inline'; worker-src 'self' blob:"
DOCS_PATHS = ("/api/docs/", "/api/redoc/")


@sync_and_async_middleware
def protect(get_response: Handler) -> Handler:
    """Nothing from elsewhere, no inline script, in no frame: on every answer, also those of errors."""
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
