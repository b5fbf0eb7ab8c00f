"""Django's ASGI handler with one change of thread per request (docs/decisions/request-threads.md)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from functools import partial
from typing import IO, Any
from weakref import WeakKeyDictionary

from asgiref.sync import ThreadSensitiveContext, iscoroutinefunction
from channels.db import DatabaseSyncToAsync
from django.core import signals
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, ASGIRequest, get_script_prefix
from django.core.handlers.base import BaseHandler
from django.http.response import FileResponse, HttpResponseBase
from django.urls import Resolver404, resolve, set_script_prefix

from copilot_project import limits
from durable.per_process import PerProcess

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]


class RequestHandler(ASGIHandler):
    """Run a synchronous view and all middleware in one go, on a thread of the process's pool.

    Django runs each middleware of a synchronous view by itself, on a thread that it starts for the request. Requests
    for asynchronous views are left to it, since they must not hold a thread while they wait.
    """

    def __init__(self) -> None:
        super().__init__()
        self._threaded = SynchronousHandler()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not is_asynchronous(scope["path"]):
            await self.handle_on_thread(scope, receive, send)
            return
        async with ThreadSensitiveContext():
            await self.handle(scope, receive, send)

    async def handle_on_thread(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, as `handle` does; a client that disconnects ends the answer, not the view."""
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        set_script_prefix(get_script_prefix(scope))
        request, refusal = self.create_request(scope, body)
        view = partial(self._threaded.get_response, body=body)
        answering = asyncio.create_task(self._answer(view, request, refusal, send))
        leaving = asyncio.create_task(self.listen_for_disconnect(receive))
        try:
            await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            answering.cancel()
            leaving.cancel()
        with suppress(asyncio.CancelledError):
            await answering
        with suppress(asyncio.CancelledError, RequestAborted):
            await leaving

    async def _answer(
        self,
        view: Callable[[Any], Any],
        request: ASGIRequest | None,
        refusal: HttpResponseBase | None,
        send: Send,
    ) -> None:
        response = refusal or await turnstile().run(view, request)
        try:
            await self.send_response(response, send)
        finally:
            response.close()


class SynchronousHandler(BaseHandler):
    """Django's handler for synchronous code, whose signals are those of a request of the ASGI handler."""

    def __init__(self) -> None:
        super().__init__()
        self.load_middleware(is_async=False)

    def get_response(self, request: Any, *, body: IO[bytes] | None = None) -> Any:
        """Answer a request whose `body` is closed here, since the view may go on after its client has left."""
        with body or nullcontext():
            signals.request_started.send(sender=RequestHandler, scope=request.scope)
            response = super().get_response(request)
        response._handler_class = RequestHandler  # type: ignore[attr-defined]
        if isinstance(response, FileResponse):
            response.block_size = RequestHandler.chunk_size
        return response


def is_asynchronous(path: str) -> bool:
    """Return whether the view of this address is asynchronous; an unknown address has none."""
    try:
        return iscoroutinefunction(resolve(path).func)
    except Resolver404:
        return False


class Turnstile:
    """Threads for requests, of which few begin at once: more would only wait for the interpreter and the database.

    A request that takes longer than REQUEST_PLACE_SECONDS gives its place to the next one and goes on, so that slow
    ones hold up nobody.
    """

    def __init__(self) -> None:
        self._places = asyncio.Semaphore(limits.REQUESTS_AT_ONCE)

    async def run(self, work: Callable[[Any], Any], request: Any) -> Any:
        await self._places.acquire()
        place = Place(self._places)
        try:
            return await DatabaseSyncToAsync(work, thread_sensitive=False, executor=_threads())(request)
        finally:
            place.leave()


class Place:
    """One of the places at which requests begin, left when the request ends or after REQUEST_PLACE_SECONDS."""

    def __init__(self, places: asyncio.Semaphore) -> None:
        self._places: asyncio.Semaphore | None = places
        self._timer = asyncio.get_running_loop().call_later(limits.REQUEST_PLACE_SECONDS, self.leave)

    def leave(self) -> None:
        self._timer.cancel()
        places, self._places = self._places, None
        if places is not None:
            places.release()


_threads = PerProcess(lambda: ThreadPoolExecutor(limits.MAX_REQUEST_THREADS, thread_name_prefix="request"))
_turnstiles: WeakKeyDictionary[asyncio.AbstractEventLoop, Turnstile] = WeakKeyDictionary()


def turnstile() -> Turnstile:
    """Return the running loop's turnstile."""
    return _turnstiles.setdefault(asyncio.get_running_loop(), Turnstile())
