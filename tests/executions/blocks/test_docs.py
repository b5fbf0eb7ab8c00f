"""docs/blocks is what the code says."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from executions.blocks.docs import write_pages
from executions.blocks.registry import get_registry


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
    with pytest.raises(CommandError, match=r"Stale: gone\.md, logic\.md"):
        call_command("block_docs", "--check", "--folder", str(tmp_path), stdout=StringIO())
    said = StringIO()
    call_command("block_docs", "--folder", str(tmp_path), stdout=said)
    assert "2 changed" in said.getvalue()
    assert not (tmp_path / "gone.md").exists()
    call_command("block_docs", "--check", "--folder", str(tmp_path), stdout=StringIO())
