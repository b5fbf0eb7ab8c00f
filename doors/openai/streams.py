"""Turns as the server-sent events of OpenAI, and waiting for the end of one."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing

from django.http import StreamingHttpResponse

from chat import limits as chat_limits
from chat.delivery import reader
from chat.delivery.sse import DONE, KEEP_ALIVE, KEEP_ALIVE_AFTER_SECONDS, OPENING
from chat.models import Turn
from chat.threads import in_thread
from doors.openai import errors, ids, limits
from doors.openai.completion_object import CompletionTranslator, data
from doors.openai.errors import OpenAIError, UnknownResponse
from doors.openai.response_events import SERVER_SENT, EventFraming, ResponseTranslator
from durable.event_log import START, Position, encode

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
    events = response_events(turn, is_new=is_new, after=after, framing=SERVER_SENT)
    async with aclosing(events) as batches:
        async for batch in batches:
            is_quiet = True
            for text in joined(batch):
                is_quiet = False
                yield text
            if is_quiet:
                yield ""


async def response_events(
    turn: Turn, *, is_new: bool, framing: EventFraming, after: int = -1
) -> AsyncGenerator[Iterable[str]]:
    """Yield the events of a response that follow the number `after`, to its end; none while nothing comes."""
    translator = ResponseTranslator(turn, after=after, framing=framing)
    yield translator.opening()
    last = START
    async with aclosing(reader.read(turn.pk, is_new=is_new, with_abandoned=True)) as batches:
        async for batch in batches:
            last = batch[-1].at if batch else last
            if is_lost(turn, last, after):
                continue
            yield translator.translate(batch)
    yield await in_thread(closing, turn.pk, translator, last, framing)


def closing(
    turn_id: uuid.UUID, translator: ResponseTranslator, last: Position, framing: EventFraming
) -> list[str]:
    """Return the last events; an error if the response was deleted."""
    ended = find(turn_id)
    if ended is not None:
        return translator.closing(ended, last)
    error = encode({"type": "error", "sequence_number": 0, **UnknownResponse().body()})
    return [framing.framed("error", error)]


def is_lost(turn: Turn, at: Position, after: int) -> bool:
    """Return whether the events that a reader has had are deleted, so that its place among them is unknown.

    Those of an old turn are made anew from its rows, as those of an attempt that never was; such a reader gets only
    the end, which has the whole response.
    """
    is_remade = turn.is_terminal and at.attempt > turn.attempt
    return is_remade and limits.EVENTS_PER_PLACE <= after < ids.first_number(Position(at.attempt, 0))


# --- chat completions -----------------------------------------------------------------------------


async def completion_lines(turn: Turn, *, is_new: bool, include_usage: bool) -> AsyncGenerator[str]:
    """Yield a chat completion as the text of server-sent events; an error is the last of them."""
    translator = CompletionTranslator(turn, include_usage=include_usage)
    yield translator.opening()
    try:
        async with aclosing(reader.read(turn.pk, is_new=is_new)) as batches:
            async for batch in batches:
                if not batch:
                    yield ""
                for text in joined(translator.translate(batch)):
                    yield text
        ended = await in_thread(find, turn.pk)
        if ended is None:
            raise UnknownResponse
        if ended.status == Turn.FAILED:
            raise errors.of_turn(ended)
        for text in await in_thread(translator.closing, ended):
            yield text
    except OpenAIError as error:
        yield data(encode({"error": error.body()}))


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
