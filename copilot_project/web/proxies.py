"""Trust X-Forwarded-Proto only from trusted proxies."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import cast

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

from accounts.client_address import is_trusted_proxy

Handler = Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]
FORWARDED_PROTO = "HTTP_X_FORWARDED_PROTO"


@sync_and_async_middleware
def drop_untrusted_headers(get_response: Handler) -> Handler:
    """Remove X-Forwarded-Proto unless a trusted proxy sent it; Django would believe any client."""
    if iscoroutinefunction(get_response):

        async def drop_async(request: HttpRequest) -> HttpResponseBase:
            drop_forwarded_proto(request)
            return await cast(Awaitable[HttpResponseBase], get_response(request))

        return drop_async

    def drop_sync(request: HttpRequest) -> HttpResponseBase:
        drop_forwarded_proto(request)
        return cast(HttpResponseBase, get_response(request))

    return drop_sync


def drop_forwarded_proto(request: HttpRequest) -> None:
    if FORWARDED_PROTO in request.META and not is_trusted_proxy(str(request.META.get("REMOTE_ADDR", ""))):
        del request.META[FORWARDED_PROTO]
