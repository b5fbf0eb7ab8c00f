"""Views that answer when a job has got somewhere, and wait for that on the event loop.

A view that waits returns a `Pending` response instead of an answer. The request then holds no thread and no database
connection until the job is heard of, the time is over or its client is gone.
"""

from __future__ import annotations

import asyncio
import functools
import uuid
from collections.abc import Awaitable, Callable
from typing import Any
from weakref import WeakKeyDictionary

from asgiref.sync import SyncToAsync, sync_to_async
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from rest_framework import status
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from durable import limits
from durable.connections import release
from durable.ids import new_id
from durable.places import Places
from durable.stop import leaving
from durable.waiting import wait_on_loop

Look = Callable[[], object | None]
Watch = tuple[uuid.UUID, Look]


class TooManyWaits(APIException):
    """You have too many requests that wait for an answer. Wait for one of them to end."""

    status_code = status.HTTP_429_TOO_MANY_REQUESTS
    default_code = "too_many_waits"
    default_detail = __doc__
    wait = 5  # rendered as Retry-After


class Pending(HttpResponse):
    """An answer that is not there yet: what to wait for, at most how long, and what to say then.

    `begin` answers which job to wait for and how to look at it; `answer` makes the response, whether or not the look
    found anything. Both run in the request's thread, and what they raise is answered as any error of the view.
    """

    def __init__(
        self, *, owner: str, seconds: float, begin: Callable[[], Watch], answer: Callable[[], Response]
    ) -> None:
        super().__init__()
        self.owner, self.seconds = owner, seconds
        self.begin, self.answer = begin, answer
        release()


class LongPollView(APIView):
    """A view whose handlers may return `Pending`."""

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        view = super().as_view(**initkwargs)

        @functools.wraps(view)
        async def wait_and_answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            response = await sync_to_async(view)(request, *args, **kwargs)
            return await settle(response) if isinstance(response, Pending) else response

        return wait_and_answer

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(response, Pending):
            response.view, response.request = self, request  # type: ignore[attr-defined]
            return response
        return super().finalize_response(request, response, *args, **kwargs)


async def settle(pending: Pending) -> HttpResponseBase:
    """Wait, then answer; a request that is cancelled because its client left gives everything back."""
    places = Places(
        f"waits:{pending.owner}",
        str(new_id()),
        most=limits.MAX_WAITS_PER_USER,
        seconds=pending.seconds + limits.WAIT_PLACE_GRACE_SECONDS,
    )
    if not await places.take():
        return await sync_to_async(respond)(pending, refuse)
    try:
        return await begin_and_wait(pending)
    finally:
        await asyncio.shield(places.leave())


async def begin_and_wait(pending: Pending) -> HttpResponseBase:
    answer = pending.answer
    try:
        job_id, look = await sync_to_async(detached)(pending.begin)
        await wait_on_loop(job_id, in_turn(look), seconds=pending.seconds, stop=leaving)
    except Exception as error:  # noqa: BLE001 - the view's own handler decides what it is, as for any other
        answer = functools.partial(reraise, error)
    return await sync_to_async(respond)(pending, answer)


def in_turn(look: Look) -> Callable[[], Awaitable[object | None]]:
    """Look in a thread of the request's own that is gone afterwards, a few requests at a time."""

    async def look_once() -> object | None:
        free_thread()
        async with places_to_look():
            try:
                found: object | None = await sync_to_async(detached)(look)
                return found
            finally:
                free_thread()

    return look_once


_looking: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


def places_to_look() -> asyncio.Semaphore:
    """How many waiting requests of this process look at their rows at once."""
    return _looking.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(limits.WAIT_THREADS))


def detached(work: Callable[[], Any]) -> Any:
    """Do it and give the thread's database connections back."""
    try:
        return work()
    finally:
        release()


def free_thread() -> None:
    """End the thread that Django keeps for the synchronous parts of this request; the next part gets a new one."""
    context = SyncToAsync.thread_sensitive_context.get(None)
    executor: Any = SyncToAsync.context_to_thread_executor.pop(context, None) if context else None
    if executor is not None:
        executor.shutdown(wait=False)


def respond(pending: Any, answer: Callable[[], Response]) -> HttpResponseBase:
    """The answer as the view would have given it, errors included."""
    view: APIView = pending.view
    try:
        response = answer()
    except Exception as error:  # noqa: BLE001 - as in APIView.dispatch
        response = view.handle_exception(error)
    view.response = view.finalize_response(pending.request, response, *view.args, **view.kwargs)
    return view.response


def refuse() -> Response:
    raise TooManyWaits


def reraise(error: Exception) -> Response:
    raise error
