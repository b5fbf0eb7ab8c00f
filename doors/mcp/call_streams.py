"""The messages that answer a call over time: notifications of the tool, questions, progress of its work, the result."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from chat.models import Turn
from chat.threads import in_thread
from doors.mcp import calls, limits, watch
from doors.mcp.exchange import Exchange
from doors.mcp.messages import notification, response
from doors.mcp.outcomes import CallEnd, NeededInput, StartedWork
from durable import limits as durable_limits
from durable import mailbox
from executions.models import Execution

ASKED = "ask-"  # how the id of a question begins that a tool has asked on a stream
Messages = AsyncGenerator[dict[str, Any] | None]


class ToolRun:
    """A tool that runs in a thread, and what it says meanwhile."""

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self._loop = asyncio.get_running_loop()
        self._first: dict[str, Any] | None = None  # heard before it was known that the response is a stream
        self._said: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._task = asyncio.create_task(in_thread(calls.begin, exchange, self._notify))
        self._task.add_done_callback(lambda _: self._said.put_nowait(None))

    async def ends_silently(self) -> bool:
        """Return whether it ends soon without a word, so that its result needs no stream."""
        try:
            async with asyncio.timeout(limits.SILENT_CALL_SECONDS):
                first = await self._said.get()
        except TimeoutError:
            return False
        if first is None:
            self._said.put_nowait(None)
            return True
        self._first = first
        return False

    async def ended(self) -> CallEnd:
        """Return what it has come to, when it has; raises what it has raised."""
        return await self._task

    def asks(self) -> bool:
        """Return whether it has ended with questions that are sent on a stream."""
        end = None if self._task.exception() else self._task.result()
        return isinstance(end, NeededInput) and bool(end.requests) and may_ask(self.exchange)

    async def messages(self) -> Messages:
        """Yield what it says until it has ended; None while it says nothing."""
        if self._first is not None:
            yield self._first
            self._first = None
        while True:
            try:
                async with asyncio.timeout(durable_limits.STATUS_CHECK_SECONDS):
                    said = await self._said.get()
            except TimeoutError:
                yield None
                continue
            if said is None:
                return
            yield said

    def _notify(self, method: str, params: Mapping[str, Any]) -> None:
        self._loop.call_soon_threadsafe(self._said.put_nowait, notification(method, params))


async def follow_run(run: ToolRun) -> Messages:
    """Yield all messages of a call whose tool has begun; the last one is the response."""
    exchange = run.exchange
    while True:
        async with aclosing(run.messages()) as said:
            async for message in said:
                yield message
        end = await run.ended()
        if not isinstance(end, NeededInput) or not run.asks():
            break
        boxes = {key: uuid.uuid4() for key in end.requests}
        for key, request in end.requests.items():
            yield {"jsonrpc": "2.0", "id": f"{ASKED}{boxes[key].hex}", **request}
        exchange = with_answers(exchange, await answers_in(boxes), end.state)
        run = ToolRun(exchange)
    found = await in_thread(calls.at_once, exchange, end)
    if found is not None:
        yield response(exchange.id, found)
        return
    assert isinstance(end, StartedWork)
    async with aclosing(follow_work(exchange, end.row)) as told:
        async for message in told:
            yield message


def may_ask(exchange: Exchange) -> bool:
    """Return whether questions are sent on the stream, which only older clients take."""
    return not exchange.is_modern and exchange.has_elicitation and exchange.accepts_stream


async def answers_in(boxes: Mapping[str, uuid.UUID]) -> dict[str, Any]:
    """Return the answers that have come in time; whichever process receives them puts them into their box."""
    texts = await asyncio.gather(
        *(mailbox.take(box, seconds=limits.CLIENT_ANSWER_SECONDS) for box in boxes.values())
    )
    return {key: json.loads(text) for key, text in zip(boxes, texts, strict=True) if text is not None}


def with_answers(exchange: Exchange, answers: Mapping[str, Any], state: str) -> Exchange:
    given = {**exchange.request.params, "inputResponses": answers, "requestState": state}
    return replace(exchange, request=replace(exchange.request, params=given))


async def follow_work(exchange: Exchange, row: Turn | Execution) -> Messages:
    """Yield notifications of progress, None for chances to keep the stream alive, and last the result.

    Older clients are asked for decisions on the stream; the answers come with requests of their own, to any process.
    """
    asked: set[str] = set()
    while True:
        async with aclosing(watch.follow(row, asked)) as steps:
            async for step in steps:
                yield calls.progress_message(exchange, step)
        requests = await in_thread(calls.requests_on_stream, exchange, row)
        if requests.keys() <= asked:
            break
        for key in requests.keys() - asked:
            yield {"jsonrpc": "2.0", "id": key, **requests[key]}
        asked |= requests.keys()
    yield response(exchange.id, await in_thread(calls.finish, exchange, row))
    await in_thread(calls.sent, row)  # reached only if the client has not gone away before
