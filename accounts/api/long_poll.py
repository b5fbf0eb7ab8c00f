"""Long polling: views that wait on the event loop until a job has made progress.

A view that waits returns a `PendingResponse`. The request then holds no thread and no database connection until the
job has made progress, the time is up or the client has disconnected.
"""

from __future__ import annotations

import asyncio
import functools
import uuid
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any
from weakref import WeakKeyDictionary

from asgiref.sync import SyncToAsync, sync_to_async
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts import limits
from durable.database import release
from durable.errors import Refusal
from durable.ids import new_id
from durable.rate_limit import SlotLimit
from durable.stop_signal import leaving
from durable.wait import wait_on_loop

Check = Callable[[], object | None]
Watch = tuple[uuid.UUID, Check]


class TooManyWaits(Refusal):
    """You have too many waiting requests. Wait for one of them to end."""

    status = HTTPStatus.TOO_MANY_REQUESTS
    code = "too_many_waits"
    retry_after = 5


class PendingResponse(HttpResponse):
    """A response that is sent after waiting for a job.

    `begin` returns the id of the job and a function that returns a value when the wait is over; `answer` makes the
    response in any case. Both run in the request's thread, and their errors are handled like errors of the view.
    """

    def __init__(
        self, *, owner: str, seconds: float, begin: Callable[[], Watch], answer: Callable[[], Response]
    ) -> None:
        super().__init__()
        self.owner, self.seconds = owner, seconds
        self.begin, self.answer = begin, answer
        release()


class LongPollView(APIView):
    """A view whose handlers may return a `PendingResponse`."""

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        view = super().as_view(**initkwargs)

        @functools.wraps(view)
        async def wait_and_answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            response = await sync_to_async(view)(request, *args, **kwargs)
            return await settle(response) if isinstance(response, PendingResponse) else response

        return wait_and_answer

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(response, PendingResponse):
            response.view, response.request = self, request  # type: ignore[attr-defined]
            return response
        return super().finalize_response(request, response, *args, **kwargs)


async def settle(pending: PendingResponse) -> HttpResponseBase:
    """Wait, then respond; a request whose client disconnects releases its slot."""
    slots = SlotLimit(
        f"waits:{pending.owner}",
        str(new_id()),
        most=limits.MAX_WAITS_PER_USER,
        seconds=pending.seconds + limits.WAIT_PLACE_GRACE_SECONDS,
    )
    if not await slots.take():
        return await sync_to_async(respond)(pending, refuse)
    try:
        return await begin_and_wait(pending)
    finally:
        await asyncio.shield(slots.leave())


async def begin_and_wait(pending: PendingResponse) -> HttpResponseBase:
    answer = pending.answer
    try:
        job_id, check = await sync_to_async(detached)(pending.begin)
        await wait_on_loop(job_id, in_turn(check), seconds=pending.seconds, stop=leaving)
    except Exception as error:  # noqa: BLE001 - the view's own handler decides what it is, as for any other
        answer = functools.partial(reraise, error)
    return await sync_to_async(respond)(pending, answer)


def in_turn(check: Check) -> Callable[[], Awaitable[object | None]]:
    """Run the check in a thread of the request, which then ends, for a few requests at a time."""

    async def check_once() -> object | None:
        free_thread()
        async with check_slots():
            try:
                found: object | None = await sync_to_async(detached)(check)
                return found
            finally:
                free_thread()

    return check_once


_checking: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


def check_slots() -> asyncio.Semaphore:
    """Return the semaphore that limits concurrent checks of waiting requests in this process."""
    return _checking.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(limits.WAIT_THREADS))


def detached(work: Callable[[], Any]) -> Any:
    """Run `work` and release the thread's database connections."""
    try:
        return work()
    finally:
        release()


def free_thread() -> None:
    """End the thread that Django keeps for this request's synchronous code; a new one is started when needed."""
    context = SyncToAsync.thread_sensitive_context.get(None)
    executor: Any = SyncToAsync.context_to_thread_executor.pop(context, None) if context else None
    if executor is not None:
        executor.shutdown(wait=False)


def respond(pending: Any, answer: Callable[[], Response]) -> HttpResponseBase:
    """Return the response as the view would have, including errors."""
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
