"""Modules are named for the things they own, in words of the field."""

from __future__ import annotations

from pathlib import Path

from copilot_project.env import ROOT
from tests.code.packages import PACKAGES

NOUNS = frozenset({"string", "thing", "spending"})
VAGUE = frozenset({"common", "helpers", "manager", "misc", "service", "util", "utils"})
MAX_GERUNDS = 0.05  # of all modules


def modules() -> list[Path]:
    found = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    return [path for path in found if path.parent.name != "migrations" and path.stem != "__init__"]


def is_gerund(name: str) -> bool:
    """Return whether the word that says what the module is ends in -ing."""
    word = name.rpartition("_")[2]
    return word.endswith("ing") and word not in NOUNS


def test_few_modules_are_named_for_an_activity() -> None:
    named = modules()
    assert len(named) > 400
    gerunds = sorted(str(path.relative_to(ROOT)) for path in named if is_gerund(path.stem))
    assert len(gerunds) < MAX_GERUNDS * len(named), gerunds


def test_no_module_is_a_grab_bag() -> None:
    assert [str(path.relative_to(ROOT)) for path in modules() if path.stem in VAGUE] == []


def test_words_ending_in_ing_are_told_apart() -> None:
    assert is_gerund("throttling")
    assert is_gerund("json_encoding")
    assert not is_gerund("running_call")
    assert not is_gerund("rebuild_spending")
