"""Building the chat UI: when, with which Node, and what happens when it cannot be done."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from copilot_project.launcher import ui
from tests.needs import NODE, node_program

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
    with pytest.raises(ui.CannotBuild, match=r"did not create dist/index.html"):
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


@NODE.skip_mark
def test_packages_that_the_lock_file_does_not_name_are_refused(frontend: Path) -> None:
    (frontend / "package-lock.json").write_text(
        json.dumps({"name": "x", "lockfileVersion": 3, "requires": True, "packages": {"": {"name": "x"}}})
    )
    ui.build(frontend)
    package = json.loads((frontend / "package.json").read_text())
    (frontend / "package.json").write_text(json.dumps(package | {"dependencies": {"extra": "file:./extra"}}))
    (frontend / "extra").mkdir()
    (frontend / "extra" / "package.json").write_text(json.dumps({"name": "extra", "version": "1.0.0"}))
    with pytest.raises(ui.CannotBuild, match=r"npm ci .*failed"):
        ui.build(frontend)


def test_a_changed_lock_file_makes_the_build_stale(frontend: Path) -> None:
    before = ui.fingerprint(frontend)
    (frontend / "package-lock.json").write_text("{}")
    assert ui.fingerprint(frontend) != before


LOCKED = json.loads((ui.FRONTEND / "package-lock.json").read_text())["packages"]


def test_lock_file_names_a_hash_and_no_address_for_every_package() -> None:
    packages = {path: package for path, package in LOCKED.items() if path}
    assert [path for path, package in packages.items() if "resolved" in package] == []
    fetched = {path: package for path, package in packages.items() if not package.get("inBundle")}
    assert [path for path, package in fetched.items() if "integrity" not in package] == []


def test_lock_file_names_the_optional_packages_of_every_platform() -> None:
    missing = [
        f"{path}: {name}"
        for path, package in LOCKED.items()
        for name in package.get("optionalDependencies", {})
        if f"node_modules/{name}" not in LOCKED and f"{path}/node_modules/{name}" not in LOCKED
    ]
    assert missing == []


def program(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("version", "fits"),
    [
        ("v20.20.2", True),
        ("v22.12.0", True),
        ("v24.1.0", True),
        ("v20.18.3", False),
        ("v21.7.3", False),
        ("v22.11.0", False),
        ("v18.19.0", False),
        ("nonsense", False),
    ],
)
def test_only_a_new_enough_node_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, fits: bool
) -> None:
    program(tmp_path, "node", f"echo {version}")
    program(tmp_path, "npm", "true")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert (ui.machine_node() is not None) is fits


@NODE.skip_mark
@pytest.mark.parametrize("script", ["build", "check"])
def test_scripts_of_the_chat_ui_need_no_npm_on_the_path(tmp_path: Path, script: str) -> None:
    """That of the wheel, which is all a machine without Node has, does not work when a script calls it."""
    npm = Path(shutil.which("npm") or "").resolve()
    if npm.suffix != ".js":
        pytest.skip("npm is no script of Node on this machine")
    shutil.copy(ui.FRONTEND / "package.json", tmp_path)
    tools = tmp_path / "node_modules" / ".bin"
    tools.mkdir(parents=True)
    for name in ("tsc", "vite", "oxlint", "prettier"):
        program(tools, name, f"echo {name} >> {tmp_path / 'ran'}")
    (tmp_path / "broken").mkdir()
    program(tmp_path / "broken", "npm", "exit 1")
    node = ui.NodeJs(npm=(node_program(), str(npm)), folder=tmp_path / "broken")
    node.run("run", script, folder=tmp_path, seconds=120)
    assert "tsc" in (tmp_path / "ran").read_text()


def test_a_node_without_npm_or_that_does_not_run_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert ui.machine_node() is None
    program(tmp_path, "node", "exit 1")
    assert ui.machine_node() is None
    program(tmp_path, "npm", "true")
    assert ui.machine_node() is None
