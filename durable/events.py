"""Places in a job's event log, and the entries that stand there."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol


class Position(NamedTuple):
    """Where an event stands: attempt first, so that a stale attempt sorts before its successor."""

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
    """Something a job has to tell; chat has a closed union of them."""

    def encode(self) -> str:
        """The event as one line of JSON."""
        ...

    def merge(self, later: Event) -> Event | None:
        """This event with a later one in it, or None where the two must stay apart."""
        ...


@dataclass(frozen=True, slots=True)
class Entry:
    """One event at its place.

    `after` is the last standing entry before it. A reader that has seen `after` has missed nothing that stands;
    whatever lies between the two is void (an abandoned try) or was only a passing hint.
    """

    at: Position
    after: Position
    body: str

    def line(self) -> str:
        return f"{self.at} {self.after} {self.body}"

    @classmethod
    def read(cls, line: str) -> Entry:
        at, after, body = line.split(" ", 2)
        return cls(Position.parse(at), Position.parse(after), body)


def pack(entries: Iterable[Entry]) -> bytes:
    """Entries as the bytes of an EventPage."""
    return zlib.compress("\n".join(entry.line() for entry in entries).encode(), 1)


def unpack(data: bytes) -> list[Entry]:
    text = zlib.decompress(data).decode()
    return [Entry.read(line) for line in text.split("\n")] if text else []


def standing(entries: Sequence[Entry]) -> list[Entry]:
    """Drop what later entries have voided, so that an abandoned try never shows."""
    kept: list[Entry] = []
    for entry in entries:
        while kept and kept[-1].at > entry.after:
            kept.pop()
        kept.append(entry)
    return kept


_encode = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode


def encode(chunk: object) -> str:
    """JSON on one line, as small as it gets."""
    return _encode(chunk)


def one_line(body: str) -> str:
    """JSON that every transport can carry: no line break between its tokens, no half of a surrogate pair."""
    if "\n" in body:
        body = body.replace("\n", " ")
    if body.isascii():
        return body
    try:
        body.encode()
    except UnicodeEncodeError:
        return body.encode(errors="backslashreplace").decode()  # which is how JSON escapes it, too
    return body
