"""Positions in a job's event log, and the entries at them."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol


class Position(NamedTuple):
    """The position of an event: attempt first, so that a stale attempt sorts before its successor."""

    attempt: int
    seq: int

    def __str__(self) -> str:
        return f"{self.attempt}-{self.seq}"

    @classmethod
    def parse(cls, text: str) -> Position:
        """Read `attempt-seq`; raises ValueError on anything else."""
        attempt, dash, seq = text.partition("-")
        if not (dash and attempt.isascii() and attempt.isdecimal() and seq.isascii() and seq.isdecimal()):
            raise ValueError(f"{text!r} is not a position. It looks like 1-42, as the id of an event.")
        if len(attempt) > 9 or len(seq) > 12:
            raise ValueError(f"{text[:40]!r} is not a position of this log.")
        return cls(int(attempt), int(seq))


START = Position(0, 0)


class Event(Protocol):
    """An event of a job; chat defines a closed union of them."""

    def encode(self) -> str:
        """Return the event as one line of JSON."""
        ...

    def merge(self, later: Event) -> Event | None:
        """Return this event merged with a later one, or None if the two must stay apart."""
        ...


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """One event at its position.

    `after` is the last valid entry before it. A reader that has seen `after` has missed nothing valid; whatever lies
    between the two is void (an aborted try) or transient.
    """

    at: Position
    after: Position
    body: str

    def line(self) -> str:
        return f"{self.at} {self.after} {self.body}"

    @classmethod
    def read(cls, line: str) -> LoggedEvent:
        at, after, body = line.split(" ", 2)
        return cls(Position.parse(at), Position.parse(after), body)


def pack(entries: Iterable[LoggedEvent]) -> bytes:
    """Encode entries as the bytes of an EventPage."""
    return zlib.compress("\n".join(entry.line() for entry in entries).encode(), 1)


def unpack(data: bytes) -> list[LoggedEvent]:
    text = zlib.decompress(data).decode()
    return [LoggedEvent.read(line) for line in text.split("\n")] if text else []


def standing(entries: Sequence[LoggedEvent]) -> list[LoggedEvent]:
    """Drop the entries that later ones have voided, so that an aborted try never shows."""
    kept: list[LoggedEvent] = []
    for entry in entries:
        while kept and kept[-1].at > entry.after:
            kept.pop()
        kept.append(entry)
    return kept


_encode = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode


def encode(chunk: object) -> str:
    """Return compact JSON on one line."""
    return _encode(chunk)


def one_line(body: str) -> str:
    """Return JSON that every transport can carry: no line breaks, no lone surrogates."""
    if "\n" in body:
        body = body.replace("\n", " ")
    if body.isascii():
        return body
    try:
        body.encode()
    except UnicodeEncodeError:
        return body.encode(errors="backslashreplace").decode()  # which is how JSON escapes it, too
    return body
