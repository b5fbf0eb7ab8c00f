"""Building the chat UI: when, with which Node, and what happens when it cannot be done."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from copilot_project.embedded import ui
from tests.needs import NODE

BUILD = """
const fs = require('fs');
fs.mkdirSync('dist', {recursive: true});
fs.writeFileSync('dist/index.html', fs.readFileSync('src.txt'));
"""


@pytest.fixture
def frontend(tmp_path: Path) -> Path:
    """A front end without packages, so that building it needs no network."""
    (tmp_path / "package.json").write_text(json.dumps({"name": "x", "scripts": {"build": "node build.js"}}))
    (tmp_path / "build.js").write_text(BUILD)
    (tmp_path / "src.txt").write_text("one")
    return tmp_path


def test_a_folder_without_sources_has_nothing_to_build(tmp_path: Path) -> None:
    assert ui.state(tmp_path) == "absent"


@NODE.skip_mark
def test_a_build_is_fresh_until_a_source_changes(frontend: Path) -> None:
    assert ui.state(frontend) == "missing"
    ui.build(frontend)
    assert ui.state(frontend) == "fresh"
    assert (frontend / "dist" / "index.html").read_text() == "one"
    (frontend / "src.txt").write_text("two")
    assert ui.state(frontend) == "stale"
    ui.build(frontend)
    assert (frontend / "dist" / "index.html").read_text() == "two"


@NODE.skip_mark
def test_a_build_that_fails_says_so_and_stays_missing(frontend: Path) -> None:
    (frontend / "build.js").write_text("process.exit(3)")
    with pytest.raises(ui.CannotBuild, match=r"npm run build` failed"):
        ui.build(frontend)
    assert ui.state(frontend) == "missing"


@NODE.skip_mark
def test_a_build_without_a_page_is_no_build(frontend: Path) -> None:
    (frontend / "build.js").write_text("")
    with pytest.raises(ui.CannotBuild, match=r"no dist/index.html"):
        ui.build(frontend)


@NODE.skip_mark
def test_of_many_that_build_at_once_one_does(frontend: Path) -> None:
    (frontend / "build.js").write_text(f"require('fs').appendFileSync('dist/builds', 'x');{BUILD}")
    (frontend / "dist").mkdir()
    with ThreadPoolExecutor(3) as crowd:
        for done in [crowd.submit(ui.build, frontend) for _ in range(3)]:
            done.result(120)
    assert (frontend / "dist" / "builds").read_text() == "x"
    assert ui.state(frontend) == "fresh"


def program(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("version", "fits"), [("v20.20.2", True), ("v24.1.0", True), ("v18.19.0", False), ("nonsense", False)]
)
def test_only_a_new_enough_node_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, fits: bool
) -> None:
    program(tmp_path, "node", f"echo {version}")
    program(tmp_path, "npm", "true")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert (ui.machine_node() is not None) is fits


def test_a_node_without_npm_or_that_does_not_run_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert ui.machine_node() is None
    program(tmp_path, "node", "exit 1")
    assert ui.machine_node() is None
    program(tmp_path, "npm", "true")
    assert ui.machine_node() is None
