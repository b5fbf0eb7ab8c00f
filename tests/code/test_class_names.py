"""No two classes of the product share a name, so that a name in a traceback or a search means one thing."""

from __future__ import annotations

import ast
from collections import defaultdict

from copilot_project.env import ROOT
from tests.code.packages import PACKAGES

# What a framework or a convention of ours wants under one name in every file: a block's pins, a tool's arguments.
CONVENTIONS = frozenset({"Args", "Command", "Inputs", "Migration", "Outputs"})


def test_class_names_are_unique() -> None:
    places = defaultdict(list)
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.ClassDef) and node.name not in CONVENTIONS:
                    places[node.name].append(str(path.relative_to(ROOT)))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
