"""Replies of the offline model, before they are encoded for the wire."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

WORD_DELAY_SECONDS = 0.01
MODEL = "offline"


@dataclass(frozen=True, kw_only=True)
class OfflineToolCall:
    """A tool call; `arguments` is sent as it is, `say` is the text before the call."""

    name: str
    arguments: str
    id: str = ""
    say: str = ""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A simulated fault; `llm.offline.script` describes the fields."""

    status: int | None = None
    retry_after: float | None = None
    retry_after_ms: float | None = None
    error: dict[str, Any] = field(default_factory=dict)
    cut_after_chunks: int | None = None
    hang_after_chunks: int | None = None
    drop: bool = False
    nonsense: str = ""
    times: int | None = 1
    model: str = ""


@dataclass(frozen=True, kw_only=True)
class Reply:
    """One answer: its pieces, its timing and its fault."""

    pieces: tuple[str, ...] = ()
    reasoning: str = ""
    tool_calls: tuple[OfflineToolCall, ...] = ()
    finish_reason: str = ""
    usage: dict[str, Any] | None = None
    delay: float = 0.0
    first_delay: float = 0.0
    fault: Fault | None = None
    gate: str = ""
    gate_at: int = 0

    @property
    def text(self) -> str:
        return "".join(self.pieces)


def say(
    text: str, *, delay: float = WORD_DELAY_SECONDS, tool_calls: tuple[OfflineToolCall, ...] = ()
) -> Reply:
    """Return a reply that streams the text word by word."""
    return Reply(pieces=split_words(text), delay=delay, tool_calls=tool_calls)


def split_words(text: str) -> tuple[str, ...]:
    """Split the text into words, each with the white space that follows it."""
    return tuple(re.findall(r"\s*\S+\s?|\s+$", text))


def split_evenly(text: str, count: int) -> tuple[str, ...]:
    """Split the text into exactly `count` pieces; some are empty if it is too short."""
    length = len(text)
    return tuple(text[length * n // count : length * (n + 1) // count] for n in range(count))
