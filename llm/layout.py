"""The order of an answer's parts, for protocols whose answers are lists of blocks (Anthropic) or items (Responses).

Such a provider wants the parts it signed or encrypted back unchanged and in order. A layout is the carry of one answer:
one entry per part. Text and arguments are in the message already and are not stored twice:

    {"given": {...}}              an opaque part, sent back as it came
    {"text": 12, "as": {...}}     the next 12 characters of the text, with what else the part had
    {"call": 0, "as": {...}}      the first tool call, likewise
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Fields = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class AnswerPart:
    """One part of an answer: exactly one of the three is set; `extra` is what else belongs to a text or a call."""

    given: Mapping[str, Any] | None = None
    text: str | None = None
    call: Mapping[str, Any] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


def parts_of(
    text: str, calls: Sequence[Mapping[str, Any]], layout: Sequence[Mapping[str, Any]]
) -> list[AnswerPart]:
    """Return the parts of an answer in the order of its layout, opaque ones first where text or calls do not fit it."""
    if _fits(text, calls, layout):
        return list(_laid_out(text, calls, layout))
    given = [AnswerPart(given=entry["given"]) for entry in layout if "given" in entry]
    said = [AnswerPart(text=text)] if text else []
    return [*given, *said, *(AnswerPart(call=call) for call in calls)]


def _fits(text: str, calls: Sequence[object], layout: Sequence[Mapping[str, Any]]) -> bool:
    characters = sum(entry.get("text", 0) for entry in layout)
    places = [entry["call"] for entry in layout if "call" in entry]
    return bool(layout) and characters == len(text) and places == list(range(len(calls)))


def _laid_out(
    text: str, calls: Sequence[Mapping[str, Any]], layout: Sequence[Mapping[str, Any]]
) -> Iterator[AnswerPart]:
    begin = 0
    for entry in layout:
        if "given" in entry:
            yield AnswerPart(given=entry["given"])
        elif "call" in entry:
            yield AnswerPart(call=calls[entry["call"]], extra=entry.get("as", {}))
        else:
            end = begin + entry["text"]
            yield AnswerPart(text=text[begin:end], extra=entry.get("as", {}))
            begin = end
