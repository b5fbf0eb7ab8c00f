"""No regular expression of the product can be made to run for ever.

Python's `re` holds the interpreter while it works: one pattern with two ways to read the same text, repeated, and a
stranger's few kilobytes freeze a web process or a worker with everybody's turns. Patterns that people write
themselves run in the library `regex`, with a time limit (blocks/support/patterns.py).

Every text in the source is taken for a pattern, whoever it is handed to; prose is hardly ever one that repeats. What
is put together from pieces is found compiled, in the modules.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from copilot_project.env import ROOT
from tests.code.regex_ambiguity import TooManyPaths, is_exponential, is_polynomial

HOSTILE_SAMPLES = {"tests", "attack"}  # patterns in there are meant to be slow
PACKAGES = [
    path.parent for path in sorted(ROOT.glob("*/__init__.py")) if path.parent.name not in HOSTILE_SAMPLES
]
LEFT_OUT = {
    "migrations",
    "peer_servers",
}  # the latter run in other environments, with packages we do not have
FILES = [
    path for package in PACKAGES for path in sorted(package.rglob("*.py")) if LEFT_OUT.isdisjoint(path.parts)
]
REPEATS = re.compile(r"[*+}]")
MAX_DEPTH = 6  # of tables within tables
# Examples of patterns that people may not use: the blocks refuse or stop them.
EXAMPLES = frozenset({"((a{1000}){1000}){1000}", "(?:a|aa)+$"})


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a+)+b",
        r"(a*)*b",
        r"(a|a)*b",
        r"(a|ab|b)*c",
        r"(?:a+b?)*c",
        r"(a?a?)*b",
        r"(x+x+)+y",
        r"((a|b)*c?)*d",
        r"(?i:(ab|AB)*)c",
        r"(?=(a+)+b)x",
        r"(?:a{1,60}){1,60}b",
        r"(\w+\s?)*$",
        rb"\s*(<!--.*?-->\s*)*<p",
        r"(?:\{.*\}\n?)+$",
    ],
)
def test_a_pattern_that_backtracks_exponentially_is_found(pattern: str | bytes) -> None:
    assert is_exponential(pattern, re.DOTALL)


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a|b)*c",
        r"(ab?)*c",
        r"(a+b)+",
        r"(?:;[^;,]*)*,",
        r"\s*(.*?)\s*$",
        r'"(?:[^"\\]|\\.)*"',
        r"(?:a{2}b){3}",
        r"[a-z]+(?:-[a-z]+)*",
        r"(?:\s*,\s*\w+)*",
        r"(?i:(a|b)*)A",
    ],
)
def test_a_pattern_with_one_way_to_read_each_text_is_not(pattern: str) -> None:
    assert not is_exponential(pattern, re.DOTALL)


def test_no_pattern_in_the_source_backtracks_exponentially() -> None:
    found = [(path.relative_to(ROOT), line, text) for path in FILES for line, text in texts_in(path)]
    slow = [
        (f"{path}:{line}", text) for path, line, text in found if text not in EXAMPLES and runs_for_ever(text)
    ]
    assert slow == []


def test_no_pattern_put_together_from_pieces_backtracks_exponentially() -> None:
    found = {
        (one.pattern, one.flags): str(path.relative_to(ROOT)) for path in FILES for one in patterns_in(path)
    }
    assert len(found) > 100, "the patterns are no longer found"
    assert [
        (path, pattern) for (pattern, flags), path in found.items() if is_exponential(pattern, flags)
    ] == []


# Patterns that may take quadratic time on texts that are short, each with what keeps them so.
SHORT_TEXTS = {
    "boundary/readable.py": "the repeat has at most 500 characters, and the first kilobytes of a page are looked at",
    "boundary/urls.py": "a URL has at most 8,192 characters, and only a # after the first one fails",
    "tools/docs_search.py": "headings of the product's own documentation",
    "tools/time_ranges/parse.py": "an expression of time has at most 200 characters",
}
# Not bounded so far: the offline model, a program of its own for trying the product out, holds only itself up.
OFFLINE_MODEL = "llm/offline/"


@pytest.mark.parametrize(
    "pattern",
    [r"\s*(.*?)\s*$", r"a*a*b", r"(\w[\w ]*?)\s*[=:]", r"[0-9]*,?[0-9]*\}", r"\d+\.?\d+x", r"(?=a*a*b)x"],
)
def test_a_pattern_that_takes_quadratic_time_is_found(pattern: str) -> None:
    assert is_polynomial(pattern, re.DOTALL)


@pytest.mark.parametrize(
    "pattern",
    [
        r"a*b*c",
        r"(a|b)*c",
        r"\w+\s*=\s*\w+",
        r"a+b+a+",
        r"x*yx*",
        r"[a-z]+(?:-[a-z]+)*",
        r"a*+a*b",
        r"(?>a*)a*b",
    ],
)
def test_a_pattern_with_one_way_to_split_each_text_is_not_quadratic(pattern: str) -> None:
    assert not is_polynomial(pattern, re.DOTALL)


def test_patterns_that_take_quadratic_time_see_short_texts_only() -> None:
    found = {
        (one.pattern, one.flags): str(path.relative_to(ROOT)) for path in FILES for one in patterns_in(path)
    }
    slow = {path: pattern for (pattern, flags), path in found.items() if takes_quadratic_time(pattern, flags)}
    unbounded = {path: text for path, text in slow.items() if not path.startswith(OFFLINE_MODEL)}
    assert unbounded.keys() == SHORT_TEXTS.keys(), unbounded


def takes_quadratic_time(pattern: str | bytes, flags: int) -> bool:
    try:
        return is_polynomial(pattern, flags)
    except TooManyPaths:
        return True


def texts_in(path: Path) -> Iterator[tuple[int, str | bytes]]:
    """Each text with its line; what is filled in when the code runs counts as the letter x."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.JoinedStr):
            pieces = [str(piece.value) if isinstance(piece, ast.Constant) else "x" for piece in node.values]
            yield node.lineno, "".join(pieces)
        elif isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)):
            yield node.lineno, node.value


def runs_for_ever(text: str | bytes) -> bool:
    """Taken for a pattern; the flags are not known here, and with DOTALL a pattern reads most."""
    shown = text.decode("latin-1") if isinstance(text, bytes) else text
    if not REPEATS.search(shown):
        return False
    try:
        re.compile(text)
    except (re.error, ValueError, OverflowError, RecursionError):
        return False
    return is_exponential(text, re.DOTALL)


def patterns_in(path: Path) -> Iterator[re.Pattern[Any]]:
    """The compiled patterns a module holds."""
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    yield from held_by(vars(importlib.import_module(name)), MAX_DEPTH)


def held_by(value: Any, depth: int) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth:
        for part in parts_of(value):
            yield from held_by(part, depth - 1)


def parts_of(value: Any) -> Iterable[Any]:
    match value:
        case Mapping():
            return list(value.values())
        case list() | tuple() | set() | frozenset():
            return value
        case _ if is_dataclass(value) and not isinstance(value, type):
            return [getattr(value, one.name, None) for one in fields(value)]
        case _:
            return ()
