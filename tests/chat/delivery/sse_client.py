"""Server-sent events as a client reads them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

READ_SECONDS = 60


@dataclass
class Received:
    """What came over one connection."""

    raw: str = ""
    ids: list[str] = field(default_factory=list)
    data: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)

    @property
    def chunks(self) -> list[dict[str, Any]]:
        return [json.loads(text) for text in self.data if text != "[DONE]"]

    @property
    def bodies(self) -> list[str]:
        return [text for text in self.data if text != "[DONE]"]

    @property
    def kinds(self) -> list[str]:
        return [chunk["type"] for chunk in self.chunks]

    @property
    def is_done(self) -> bool:
        return self.data[-1:] == ["[DONE]"]

    def take(self, piece: bytes) -> None:
        self.raw += piece.decode()
        *whole, rest = self.raw.split("\n\n")
        assert rest == "", "a piece ends in the middle of an event"
        for event in whole[len(self.data) + len(self.comments) :]:
            self._event(event)

    def _event(self, event: str) -> None:
        if event.startswith(":"):
            self.comments.append(event[1:].strip())
            return
        lines = event.split("\n")
        fields = dict(line.split(": ", 1) for line in lines)
        assert len(fields) == len(lines), f"an event with a doubled field: {event!r}"
        self.data.append(fields["data"])
        if "id" in fields:
            self.ids.append(fields["id"])


async def receive(
    content: AsyncIterator[bytes], *, until: Callable[[Received], bool] | None = None
) -> Received:
    """Everything, or as much as it takes; leaving early closes the stream."""
    received = Received()
    async with asyncio.timeout(READ_SECONDS):
        async for piece in content:
            received.take(piece)
            if until is not None and until(received):
                break
    return received
