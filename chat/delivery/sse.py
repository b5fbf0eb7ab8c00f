"""Turns as server-sent events: the AI SDK UI message stream, with an id on every event."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing

from django.db import connection
from django.http import StreamingHttpResponse

from chat import limits, protocol
from chat.delivery import reader
from durable import limits as durable_limits
from durable.event_log import Position

HEADERS = {
    "Cache-Control": "no-cache",
    "Connection": "keep-alive",
    "X-Vercel-AI-UI-Message-Stream": "v1",
    "X-Accel-Buffering": "no",
}
OPENING = b": stream-open\n\n"
KEEP_ALIVE = b": keep-alive\n\n"
DONE = b"data: [DONE]\n\n"
LINE_BREAKS = {"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"}
KEEP_ALIVE_AFTER_SECONDS = durable_limits.KEEP_ALIVE_SECONDS - 1.5 * durable_limits.STATUS_CHECK_SECONDS


def respond_exact(turn_id: uuid.UUID, after: Position) -> StreamingHttpResponse:
    """Stream exactly what follows a position, until the end of the turn."""
    return respond(reader.read(turn_id, after=after), ends_anyway=True)


def respond_compact(turn_id: uuid.UUID, *, is_new: bool = False) -> StreamingHttpResponse:
    """Stream the committed part in few chunks, then live events; a stream that is cut short has no `[DONE]`."""
    return respond(reader.read_compact(turn_id, is_new=is_new), ends_anyway=False)


def respond(batches: AsyncGenerator[reader.Batch], *, ends_anyway: bool) -> StreamingHttpResponse:
    if not connection.in_atomic_block:
        connection.close()  # a stream may last for hours and needs no connection of its own
    return StreamingHttpResponse(
        events(batches, ends_anyway=ends_anyway), content_type="text/event-stream", headers=HEADERS
    )


async def events(batches: AsyncGenerator[reader.Batch], *, ends_anyway: bool) -> AsyncGenerator[bytes]:
    """Yield the bytes of a stream: keep-alives when it is quiet, few writes, none larger than a piece."""
    loop = asyncio.get_running_loop()
    yield OPENING
    sent_at, finished = loop.time(), ends_anyway
    async with aclosing(batches) as open_batches:
        async for batch in open_batches:
            if batch:
                for piece in pieces(batch):
                    yield piece
                finished = finished or protocol.is_end(batch[-1].body)
            elif loop.time() - sent_at >= KEEP_ALIVE_AFTER_SECONDS:
                yield KEEP_ALIVE
            else:
                continue
            sent_at = loop.time()
    if finished:
        yield DONE


def pieces(batch: reader.Batch) -> Iterator[bytes]:
    """Yield a batch as bytes, cut anywhere; each piece is made when it is sent, to save memory."""
    ready, size = [], 0
    for text in texts(batch):
        ready.append(text)
        size += len(text)
        if size >= limits.STREAM_PIECE_BYTES:
            yield "".join(ready).encode()
            ready, size = [], 0
    if ready:
        yield "".join(ready).encode()


def texts(batch: reader.Batch) -> Iterator[str]:
    for entry in batch:
        body = one_line(entry.body)
        if len(body) <= limits.STREAM_PIECE_BYTES:
            yield f"id: {entry.at}\ndata: {body}\n\n"
            continue
        yield f"id: {entry.at}\ndata: "
        for begin in range(0, len(body), limits.STREAM_PIECE_BYTES):
            yield body[begin : begin + limits.STREAM_PIECE_BYTES]
        yield "\n\n"


def one_line(body: str) -> str:
    """Escape the Unicode line breaks that JSON does not: some readers split lines there."""
    if not body.isascii():
        for character, escaped in LINE_BREAKS.items():
            body = body.replace(character, escaped)
    return body
