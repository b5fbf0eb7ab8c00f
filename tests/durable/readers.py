"""A reader of a log as every client is one: it applies entries by their places."""

from __future__ import annotations

import json
from collections.abc import Iterable

from durable.event_log import START, LoggedEvent, Position, standing


class Reader:
    """Keeps what stands, drops doubles, and says so when an entry does not join on."""

    def __init__(self, after: Position = START) -> None:
        self.at = after
        self.kept: list[LoggedEvent] = []

    def take(self, entries: Iterable[LoggedEvent]) -> bool:
        """Apply entries in order; False at the first one whose predecessor is missing."""
        for entry in entries:
            if entry.at <= self.at:
                continue
            if entry.after > self.at:
                return False
            self.at = entry.at
            self.kept = standing([*self.kept, entry])
        return True

    @property
    def text(self) -> str:
        return text_of(self.kept)


def text_of(entries: Iterable[LoggedEvent]) -> str:
    return "".join(json.loads(entry.body)["text"] for entry in entries)
