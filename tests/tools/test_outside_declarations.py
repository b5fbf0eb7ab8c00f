"""Every tool and block says whether it reads what strangers wrote, and what of it leaves the site."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

import tools.catalog
from blocks.base import Effects, Leaves
from blocks.registry import get_registry

FILES = sorted(Path(tools.catalog.__path__[0]).glob("[!_]*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_tool_says_what_it_reads_and_when_it_is_held(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "tool":
            said = {name for keyword in node.keywords for name in names_said(keyword, path.stem)}
            assert {"reads", "holds"} <= said, f"{path.name}:{node.lineno} says {said}"


def names_said(keyword: ast.keyword, module: str) -> set[str]:
    """Return the name of a keyword, or those that `**shared` stands for in a module of the catalog."""
    if keyword.arg is not None:
        return {keyword.arg}
    return set(
        eval(ast.unparse(keyword.value), vars(importlib.import_module(f"{tools.catalog.__name__}.{module}")))
    )


def test_every_block_that_is_not_pure_says_what_it_reads_and_what_leaves() -> None:
    unsaid = [
        block.name
        for block in get_registry()
        if block.effects is not Effects.PURE and (block.reads_outside is None or block.leaves is None)
    ]
    assert unsaid == []


def test_a_pure_block_lets_nothing_out() -> None:
    for block in get_registry():
        if block.effects is Effects.PURE:
            assert block.leaves in (None, Leaves.NOTHING), block.name
