"""A real browser on the real stack with the offline model."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from copilot_project.embedded import ui
from tests.rig import Stack, running_stack

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The machine's own browser; without one the tests skip at home and fail in CI."""
    program = next((found for name in PROGRAMS if (found := shutil.which(name))), None)
    if program is None:
        if os.environ.get("CI"):
            pytest.fail("Chromium is needed for the browser tests.")
        pytest.skip("Chromium is not installed.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def built_ui() -> None:
    if ui.state() != "fresh":
        try:
            ui.build()
        except ui.CannotBuild as error:
            if os.environ.get("CI"):
                pytest.fail(str(error))
            pytest.skip(str(error))


@pytest.fixture(scope="session")
def stack(built_ui: None) -> Iterator[Stack]:
    home = Path(tempfile.mkdtemp(prefix="rb-"))
    with running_stack(home / "s", workers=1) as running:
        yield running
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def page(chromium: Browser, stack: Stack) -> Iterator[Page]:
    """A page that has logged in as ann; a script error fails the test."""
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    opened = context.new_page()
    opened.set_default_timeout(60_000)
    expect.set_options(timeout=60_000)
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    log_in(opened, stack)
    yield opened
    context.close()
    assert not errors


def log_in(page: Page, stack: Stack) -> None:
    page.goto(stack.url() + "/")
    page.fill("[name=username]", "ann")
    page.fill("[name=password]", "a good password")
    page.keyboard.press("Enter")
    page.wait_for_selector("textarea")
