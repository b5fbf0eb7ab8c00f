"""Words: events for tests that merge like the text of a model."""

from __future__ import annotations

from dataclasses import dataclass

from durable.event_log import Event, encode


@dataclass(frozen=True, kw_only=True)
class Word:
    """A piece of text; pieces next to each other become one."""

    text: str

    def encode(self) -> str:
        return encode({"text": self.text})

    def merge(self, later: Event) -> Event | None:
        return Word(text=self.text + later.text) if isinstance(later, Word) else None


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A piece of text that stays on its own."""

    text: str

    def encode(self) -> str:
        return encode({"text": self.text})

    def merge(self, later: Event) -> Event | None:
        return None
