"""Responses as server-sent events: notifications as they come, keep-alives, and the response last."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

from django.http import StreamingHttpResponse

from chat.delivery.sse import KEEP_ALIVE, KEEP_ALIVE_AFTER_SECONDS, OPENING, one_line
from durable.event_log import encode

HEADERS = {"Cache-Control": "no-cache, no-transform", "Connection": "keep-alive", "X-Accel-Buffering": "no"}
Messages = AsyncGenerator[Mapping[str, Any] | None]


def respond(messages: Messages) -> StreamingHttpResponse:
    """Send messages as they come, with keep-alives while nothing comes."""
    return StreamingHttpResponse(pieces(messages), content_type="text/event-stream", headers=HEADERS)


async def pieces(messages: Messages) -> AsyncGenerator[bytes]:
    loop = asyncio.get_running_loop()
    yield OPENING
    sent_at = loop.time()
    async with aclosing(messages) as open_messages:
        async for message in open_messages:
            if message is not None:
                yield event(message)
            elif loop.time() - sent_at >= KEEP_ALIVE_AFTER_SECONDS:
                yield KEEP_ALIVE
            else:
                continue
            sent_at = loop.time()


def event(message: Mapping[str, Any]) -> bytes:
    body = encode(message)
    return f"event: message\ndata: {body if body.isascii() else one_line(body)}\n\n".encode()
