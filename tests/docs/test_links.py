"""The documentation hangs together: no dead links, no page that nothing leads to, one folder per kind of page."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from copilot_project.env import ROOT
from tools.docs_search import read_page

DOCS = ROOT / "docs"
KINDS = {"tutorial", "how-to", "explanation", "reference"}
PAGES = sorted(
    [*DOCS.rglob("*.md"), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md"))]
)
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.DOTALL | re.MULTILINE)
CODE_PATH = re.compile(r"`([a-z_]+(?:/[\w.-]+)+/?)`")
NAMED = re.compile(r"\bdocs/[\w./-]+\.(?:md|png)\b")
EXCUSED = {
    "CHANGELOG.md",  # names pages as they were called at the time
    "tests/tools/test_catalog.py",  # has pages of its own
}
MADE_LATER = {"docker/.env", "frontend/dist"}


def links_of(page: Path) -> Iterator[tuple[Path, str]]:
    """Yield the file and the anchor of every link of a page that leads into the repository."""
    for target in LINK.findall(CODE.sub("", page.read_text())):
        if not re.match(r"[a-z]+:", target):
            path, _, anchor = target.partition("#")
            yield ((page.parent / path).resolve() if path else page), anchor


def shown(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target, anchor in links_of(page):
        assert target.exists(), f"{shown(page)} links to {target}, which is not there"
        if anchor:
            sections = read_page(shown(target), target.read_text()).sections
            assert anchor in [section.anchor for section in sections], f"{shown(page)}: no #{anchor}"


def test_every_page_can_be_reached_from_the_front_page() -> None:
    reached, waiting = set(), [DOCS / "index.md"]
    while waiting:
        page = waiting.pop()
        if page not in reached and page.suffix == ".md":
            reached.add(page)
            waiting += [target for target, _ in links_of(page) if target.is_relative_to(DOCS)]
    everything = {page for page in DOCS.rglob("*.md") if page.parent.name != "decisions"}
    assert sorted(map(shown, everything - reached)) == []


def test_every_page_is_in_the_folder_of_its_kind() -> None:
    assert [path.name for path in DOCS.glob("*.md")] == ["index.md"]
    assert {path.name for path in DOCS.iterdir() if path.is_dir()} == KINDS | {
        "decisions",
        "examples",
        "images",
    }


def test_every_page_that_the_code_names_exists() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    files = [ROOT / name for name in listed.decode().split("\0") if name and name not in EXCUSED]
    missing = {
        f"{shown(file)}: {named}"
        for file in files
        if file.is_file() and file.suffix not in (".png", ".ico", ".woff2")
        for named in NAMED.findall(file.read_text("utf-8", "replace"))
        if not (ROOT / named).exists()
    }
    assert sorted(missing) == []


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    folders = {path.name for path in ROOT.iterdir() if path.is_dir()}
    named = {path for path in CODE_PATH.findall(page.read_text()) if path.split("/")[0] in folders}
    assert [path for path in sorted(named - MADE_LATER) if not somewhere(path)] == []


def somewhere(path: str) -> bool:
    """Whether the path exists from the root, or from where the sources of the chat UI are."""
    return (ROOT / path).exists() or (ROOT / "frontend" / "src" / path).exists()
