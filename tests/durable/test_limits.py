"""Every cap is one that something keeps to."""

from __future__ import annotations

import re
from pathlib import Path

from copilot_project.env import ROOT
from durable import limits

NOT_THE_PRODUCT = {"tests", "benchmarks", "node_modules", "conftest.py"}


def test_every_cap_is_used_by_the_product() -> None:
    names = {name for name in vars(limits) if name.isupper()}
    used = {
        word for path in product() for word in re.findall(r"\b[A-Z][A-Z_0-9]+\b", without_definitions(path))
    }
    assert len(names) > 100
    assert names - used == set()


def product() -> list[Path]:
    found = [
        path for path in ROOT.glob("[!.]*/**/*.py") if not NOT_THE_PRODUCT & set(path.relative_to(ROOT).parts)
    ]
    assert Path(limits.__file__) in found
    return found


def without_definitions(path: Path) -> str:
    text = path.read_text()
    return re.sub(r"^[A-Z_0-9]+ =", "", text, flags=re.MULTILINE) if path == Path(limits.__file__) else text
