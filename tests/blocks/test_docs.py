"""docs/reference/blocks is what the code says."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from blocks.docs import write_pages
from blocks.errors import BlockError
from blocks.registry import blocks_of, get_registry
from blocks.run import run_block
from tests.blocks.doubles import make_context


def test_the_block_pages_are_up_to_date() -> None:
    call_command("block_docs", "--check", stdout=StringIO())


def test_every_block_and_every_pin_is_on_a_page() -> None:
    pages = write_pages(get_registry())
    for block in get_registry():
        page = pages[f"{block.category.lower()}.md"]
        assert f"## {block.name}\n" in page
        assert block.id in page
        assert block.name in pages["README.md"]
        for pin in (*block.input_pins, *block.output_pins):
            assert f"| `{pin.name}` |" in page


def test_a_stale_page_is_named_and_rewritten_and_a_left_over_one_is_removed(tmp_path: Path) -> None:
    call_command("block_docs", "--folder", str(tmp_path), stdout=StringIO())
    (tmp_path / "logic.md").write_text("old")
    (tmp_path / "gone.md").write_text("of a category that is no more")
    with pytest.raises(CommandError, match=r"Out of date: gone\.md, logic\.md"):
        call_command("block_docs", "--check", "--folder", str(tmp_path), stdout=StringIO())
    said = StringIO()
    call_command("block_docs", "--folder", str(tmp_path), stdout=said)
    assert "2 changed" in said.getvalue()
    assert not (tmp_path / "gone.md").exists()
    call_command("block_docs", "--check", "--folder", str(tmp_path), stdout=StringIO())


def test_the_block_of_the_guide_does_what_its_examples_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page's code, as it stands there, in a module of a stranger."""
    guide = (Path(settings.BASE_DIR) / "docs" / "how-to" / "add-a-block.md").read_text()
    (tmp_path / "shouting_blocks.py").write_text(re.findall(r"```python\n(.*?)```", guide, re.DOTALL)[0])
    monkeypatch.syspath_prepend(str(tmp_path))
    [(block, _)] = blocks_of(import_module("shouting_blocks"))
    works, fails = block.examples
    assert list(run_block(block, works.inputs, make_context(works.world))) == list(works.outputs)
    with pytest.raises(BlockError, match=fails.error):
        list(run_block(block, fails.inputs, make_context(fails.world)))
    del sys.modules["shouting_blocks"]
