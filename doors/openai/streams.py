"""Turns as the server-sent events of OpenAI, and waiting for the end of one."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing

from django.http import StreamingHttpResponse

from chat import limits as chat_limits
from chat import protocol
from chat.delivery import reader
from chat.delivery.sse import DONE, KEEP_ALIVE, KEEP_ALIVE_AFTER_SECONDS, OPENING, one_line
from chat.models import Turn
from chat.threads import in_thread
from doors.openai import errors
from doors.openai.completion_object import CompletionTranslator
from doors.openai.errors import OpenAIError, UnknownResponse
from doors.openai.response_events import ResponseEvent, ResponseTranslator
from durable.event_log import Position, encode

logger = logging.getLogger(__name__)

HEADERS = {"Cache-Control": "no-cache", "Connection": "keep-alive", "X-Accel-Buffering": "no"}


def respond(lines: AsyncGenerator[str]) -> StreamingHttpResponse:
    """Send the lines of a stream as they come, with keep-alives while nothing comes."""
    return StreamingHttpResponse(pieces(lines), content_type="text/event-stream", headers=HEADERS)


async def pieces(lines: AsyncGenerator[str]) -> AsyncGenerator[bytes]:
    """Yield the bytes of a stream: few writes, none much larger than a piece. Empty lines are chances to keep alive."""
    loop = asyncio.get_running_loop()
    yield OPENING
    sent_at = loop.time()
    async with aclosing(lines) as open_lines:
        async for line in open_lines:
            if line:
                yield line.encode()
            elif loop.time() - sent_at >= KEEP_ALIVE_AFTER_SECONDS:
                yield KEEP_ALIVE
            else:
                continue
            sent_at = loop.time()
    yield DONE


# --- responses ------------------------------------------------------------------------------------


async def response_lines(turn: Turn, *, is_new: bool, after: int = -1) -> AsyncGenerator[str]:
    """Yield a response as the text of server-sent events that follow the number `after`."""
    async with aclosing(response_events(turn, is_new=is_new)) as batches:
        async for batch in batches:
            if not batch:
                yield ""
            for text in joined(sse_text(event) for event in batch if event.number > after):
                yield text


def sse_text(event: ResponseEvent) -> str:
    body = event.body if event.body.isascii() else one_line(event.body)
    return f"event: {event.type}\ndata: {body}\n\n"


async def response_events(turn: Turn, *, is_new: bool) -> AsyncGenerator[list[ResponseEvent]]:
    """Yield the events of a response from its beginning to its end; an empty list while nothing comes."""
    translator = ResponseTranslator(turn)
    yield translator.opening()
    last = Position(0, 0)
    async with aclosing(reader.read(turn.pk, is_new=is_new)) as batches:
        async for batch in batches:
            last = batch[-1].at if batch else last
            running = [entry for entry in batch if not protocol.is_end(entry.body)]
            yield [event for entry in running for event in translator.translate(entry)]
    ended = await in_thread(find, turn.pk)
    if ended is None:
        error = encode({"type": "error", "sequence_number": 0, **UnknownResponse().body()})
        yield [ResponseEvent(2**53 - 1, "error", error)]
        return
    yield await in_thread(translator.closing, ended, last)


# --- chat completions -----------------------------------------------------------------------------


async def completion_lines(turn: Turn, *, is_new: bool, include_usage: bool) -> AsyncGenerator[str]:
    """Yield a chat completion as the text of server-sent events; an error is the last of them."""
    translator = CompletionTranslator(turn, include_usage=include_usage)
    yield data(translator.opening())
    try:
        async with aclosing(reader.read(turn.pk, is_new=is_new)) as batches:
            async for batch in batches:
                if not batch:
                    yield ""
                running = (entry for entry in batch if not protocol.is_end(entry.body))
                for text in joined(data(chunk) for entry in running for chunk in translator.translate(entry)):
                    yield text
        ended = await in_thread(find, turn.pk)
        if ended is None:
            raise UnknownResponse
        if ended.status == Turn.FAILED:
            raise errors.of_turn(ended)
        for chunk in await in_thread(translator.closing, ended):
            yield data(chunk)
    except OpenAIError as error:
        yield data(encode({"error": error.body()}))


def data(body: str) -> str:
    return f"data: {one_line(body)}\n\n"


def joined(texts: Iterable[str]) -> Iterator[str]:
    """Join texts to pieces of a convenient size, which are made when they are sent, to save memory."""
    ready: list[str] = []
    size = 0
    for text in texts:
        ready.append(text)
        size += len(text)
        if size >= chat_limits.STREAM_PIECE_BYTES:
            yield "".join(ready)
            ready, size = [], 0
    if ready:
        yield "".join(ready)


# --- ends -----------------------------------------------------------------------------------------


async def wait_for_end(turn: Turn, *, is_new: bool) -> Turn:
    """Return the turn once it has ended, without a thread or a connection meanwhile; raise UnknownResponse."""
    async with aclosing(reader.read(turn.pk, is_new=is_new)) as batches:
        async for _ in batches:
            pass
    ended = await in_thread(find, turn.pk)
    if ended is None:
        raise UnknownResponse
    return ended


def find(turn_id: uuid.UUID) -> Turn | None:
    return Turn.objects.select_related("session").filter(pk=turn_id).first()
