"""Parser for JSON in model answers: finds it in prose and code fences, and tolerates common mistakes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from executions.generator.errors import BadDraft

FENCE = re.compile(r"```(?:json|JSON)?(.*?)```", re.DOTALL)
TRAILING_COMMA = re.compile(r",(\s*[}\]])")
COMMENT = re.compile(r"^[^\S\n]*//.*$", re.MULTILINE)
LITERALS = ((re.compile(r"(?<=[:,\[\s])True\b"), "true"), (re.compile(r"(?<=[:,\[\s])False\b"), "false"))
NONE = re.compile(r"(?<=[:,\[\s])None\b")
MAX_STARTS = 50


def read_object(text: str) -> dict[str, Any]:
    """Return the JSON object in an answer; raises BadDraft when there is none."""
    for candidate in candidates(text):
        for version in (candidate, tolerate(candidate)):
            found = decode(version)
            if found is not None:
                return found
    raise BadDraft("The answer contains no valid JSON object. Answer with one JSON object and nothing else.")


def candidates(text: str) -> Iterator[str]:
    """Yield the fenced pieces, then the text from each of the first braces."""
    yield from (match.group(1).strip() for match in FENCE.finditer(text))
    for number, match in enumerate(re.finditer(r"\{", text)):
        if number == MAX_STARTS:
            return
        yield text[match.start() :]


def decode(text: str) -> dict[str, Any] | None:
    try:
        found, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and found else None


def tolerate(text: str) -> str:
    """Return the text without comments and trailing commas, and with JSON's literals in place of Python's."""
    plain = TRAILING_COMMA.sub(r"\1", COMMENT.sub("", text))
    for pattern, word in LITERALS:
        plain = pattern.sub(word, plain)
    return NONE.sub("null", plain)


def texts(value: Any, *, most: int, longest: int) -> tuple[str, ...]:
    """Return the texts of a list, each cut to a length; of objects their description, else all of their texts."""
    rows = value if isinstance(value, list) else []
    found = [words_of(row) for row in rows]
    return tuple(str(text).strip()[:longest] for text in found if text)[:most]


def words_of(row: Any) -> Any:
    if not isinstance(row, Mapping):
        return row
    if isinstance(told := row.get("description") or row.get("step"), str) and told:
        return told
    return ", ".join(
        f"{name}: {value}" for name, value in row.items() if isinstance(value, str | int | float)
    )
