"""block_docs: write docs/reference/blocks from the block catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from blocks.docs import write_pages
from blocks.registry import get_registry


class Command(BaseCommand):
    help = "Write docs/reference/blocks from the block catalogue, or check that it is up to date."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--check", action="store_true", help="change nothing, fail when a page is stale")
        parser.add_argument(
            "--folder", type=Path, default=Path(settings.BASE_DIR) / "docs" / "reference" / "blocks"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        folder: Path = options["folder"]
        pages = write_pages(get_registry())
        stale = find_stale(folder, pages)
        if options["check"] and stale:
            raise CommandError(f"Out of date: {', '.join(stale)}. Run ./copilot block_docs.")
        for name in stale:
            write_page(folder / name, pages.get(name))
        self.stdout.write(f"{len(pages)} pages, {len(stale)} changed.")


def find_stale(folder: Path, pages: Mapping[str, str]) -> list[str]:
    """Return the pages that differ from what the code says, including those that should not exist."""
    there = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    return sorted(name for name in there.keys() | pages.keys() if there.get(name) != pages.get(name))


def write_page(path: Path, text: str | None) -> None:
    if text is None:
        path.unlink()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
