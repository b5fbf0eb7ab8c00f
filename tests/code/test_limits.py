"""Every limit is one that something keeps to, and is defined once."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from copilot_project.env import ROOT

NOT_THE_PRODUCT = {"tests", "benchmarks", "node_modules", "conftest.py"}
DEFINITION = re.compile(r"^([A-Z][A-Z_0-9]+)(?:: [^=]+)? =", re.MULTILINE)


def test_every_limit_is_used_by_the_product() -> None:
    used = {
        word for path in product() for word in re.findall(r"\b[A-Z][A-Z_0-9]+\b", without_definitions(path))
    }
    names = defined()
    assert len(names) > 300
    assert set(names) - used == set()


def test_no_limit_is_defined_twice() -> None:
    assert [name for name, times in Counter(defined()).items() if times > 1] == []


def defined() -> list[str]:
    return [name for path in limit_files() for name in DEFINITION.findall(path.read_text())]


def limit_files() -> list[Path]:
    found = [*ROOT.glob("[!.]*/limits.py"), *ROOT.glob("doors/*/limits.py")]
    assert len(found) > 5
    return found


def product() -> list[Path]:
    return [
        path for path in ROOT.glob("[!.]*/**/*.py") if not NOT_THE_PRODUCT & set(path.relative_to(ROOT).parts)
    ]


def without_definitions(path: Path) -> str:
    text = path.read_text()
    return DEFINITION.sub("", text) if path.name == "limits.py" else text
