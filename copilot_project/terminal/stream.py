"""Read the event stream of one turn to its end, resuming it whenever the connection drops."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx

from copilot_project import limits
from copilot_project.terminal.api import ConnectionLost, refusal
from durable.backoff import Backoff

FIRST_PAUSE_SECONDS = 0.25
MAX_PAUSE_SECONDS = 8.0
DONE = "[DONE]"

Chunk = dict[str, Any]


class TurnEvents:
    """Yields the events of a turn; remembers the last one, so that a new connection continues after it."""

    def __init__(
        self, client: httpx.Client, turn_id: str, *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.client = client
        self.path = f"/api/turns/{turn_id}/stream"
        self.last_event_id = ""
        self.is_done = False
        self._sleep = sleep

    def __iter__(self) -> Iterator[Chunk]:
        """Yield every chunk once, in order; raise ConnectionLost if nothing arrives for CHAT_RESUME_SECONDS."""
        backoff, alive_at = Backoff(FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS), time.monotonic()
        while not self.is_done:
            try:
                for chunk in self._read():
                    backoff.reset()
                    alive_at = time.monotonic()
                    yield chunk
            except httpx.TransportError as error:
                if time.monotonic() - alive_at > limits.CHAT_RESUME_SECONDS:
                    raise ConnectionLost from error
            if not self.is_done:
                self._sleep(random.uniform(0, backoff.next()))  # noqa: S311

    def _read(self) -> Iterator[Chunk]:
        """Yield the chunks of one connection."""
        headers = {"Accept": "text/event-stream"}
        if self.last_event_id:
            headers["Last-Event-ID"] = self.last_event_id
        with self.client.stream("GET", self.path, headers=headers) as answer:
            if answer.status_code >= 500:
                raise httpx.RemoteProtocolError(f"The site answered {answer.status_code}.")
            if answer.is_error:
                answer.read()
                raise refusal(answer)
            for event_id, data in parse_events(answer.iter_lines()):
                if data == DONE:
                    self.is_done = True
                    return
                try:
                    chunk = json.loads(data)
                except ValueError as error:
                    raise httpx.RemoteProtocolError(f"The site sent {data[:80]!r}.") from error
                self.last_event_id = event_id or self.last_event_id
                yield chunk


def parse_events(lines: Iterator[str]) -> Iterator[tuple[str, str]]:
    """Yield (id, data) of each complete server-sent event; a truncated one is dropped and will be sent again."""
    event_id, data = "", list[str]()
    for line in lines:
        if not line:
            if data:
                yield event_id, "\n".join(data)
            event_id, data = "", []
            continue
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            data.append(value)
        elif name == "id":
            event_id = value
