"""What is believed of a request's headers about the connection it came by."""

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
def believe_only_proxies(get_response: Handler) -> Handler:
    """Drop X-Forwarded-Proto unless a trusted proxy sent it: Django would take anybody's word for https."""
    if iscoroutinefunction(get_response):

        async def believe_async(request: HttpRequest) -> HttpResponseBase:
            drop_hearsay(request)
            return await cast(Awaitable[HttpResponseBase], get_response(request))

        return believe_async

    def believe_sync(request: HttpRequest) -> HttpResponseBase:
        drop_hearsay(request)
        return cast(HttpResponseBase, get_response(request))

    return believe_sync


def drop_hearsay(request: HttpRequest) -> None:
    if FORWARDED_PROTO in request.META and not is_trusted_proxy(str(request.META.get("REMOTE_ADDR", ""))):
        del request.META[FORWARDED_PROTO]
