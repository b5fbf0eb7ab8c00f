"""The test of a module is where its path says, so that there is one place to look."""

from __future__ import annotations

from copilot_project.env import ROOT

TESTS = ROOT / "tests"
OTHERS = {"code", "scale", "system", "test_harness"}  # of no single module: see CONTRIBUTING.md


def test_every_folder_of_tests_mirrors_one_of_the_repository() -> None:
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}
    mirrored = {folder for folder in folders if folder.parts and folder.parts[0] not in OTHERS}
    assert len(mirrored) > 20
    assert [str(folder) for folder in sorted(mirrored) if not (ROOT / folder).is_dir()] == []


def test_no_test_is_outside_of_a_folder() -> None:
    assert list(TESTS.glob("test_*.py")) == []
