"""A real browser on the real stack with the offline model."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Page,
    Playwright,
    StorageState,
    expect,
    sync_playwright,
)

from tests.harness import Stack, free_port, running_stack
from tests.needs import BROWSER, INTERFACE, browser_program, require
from tests.system.browser.wire import Wire, laid_wire

# Without a graphics card every frame of an animation is drawn by the processor that the stack runs on.
PROFILE: dict[str, Any] = {
    "viewport": {"width": 1280, "height": 800},
    "locale": "en-US",
    "reduced_motion": "reduce",
}
WEB_PORT = free_port()  # of the one page outside that tools may read
MCP_PORT = free_port()  # of the one MCP server that people may connect
ENV = {
    "COPILOT_ALLOW_ANONYMOUS": "true",
    "COPILOT_TEST_APPS": "tests.testblocks",
    "BOUNDARY_ALLOWED_HOSTS": f"127.0.0.1:{WEB_PORT},127.0.0.1:{MCP_PORT}",
}


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The machine's own browser."""
    require(BROWSER, INTERFACE)
    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


def launch(playwright: Playwright) -> Browser:
    return playwright.chromium.launch(
        executable_path=browser_program(), args=["--no-sandbox", "--disable-gpu"]
    )


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    require(BROWSER, INTERFACE)
    home = Path(tempfile.mkdtemp(prefix="rb-"))
    with running_stack(home / "s", workers=1, env=ENV) as running:
        yield running
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def login(chromium: Browser, stack: Stack) -> StorageState:
    """Cookies of a browser in which ann has logged in, once for all tests."""
    context = chromium.new_context()
    log_in(context.new_page(), stack)
    state = context.storage_state()
    context.close()
    return state


@pytest.fixture
def new_page(chromium: Browser, stack: Stack, login: StorageState) -> Iterator[Callable[..., Page]]:
    """Opens pages of ann, each in a browser profile of its own."""
    contexts: list[BrowserContext] = []
    errors: list[str] = []

    def opening(url: str = "", **options: Any) -> Page:
        contexts.append(chromium.new_context(**(PROFILE | {"storage_state": login} | options)))
        return opened(contexts[-1], url or stack.url(), errors)

    yield opening
    for context in contexts:
        context.close()
    assert not errors


@pytest.fixture(scope="session")
def profile(chromium: Browser, login: StorageState) -> Iterator[BrowserContext]:
    """One profile for all tests that need no other: what was fetched once stays fetched."""
    context = chromium.new_context(**(PROFILE | {"storage_state": login}))
    yield context
    context.close()


@pytest.fixture
def page(profile: BrowserContext, stack: Stack) -> Iterator[Page]:
    errors: list[str] = []
    page = opened(profile, stack.url(), errors)
    yield page
    page.evaluate("localStorage.clear()")
    page.close()
    assert not errors


def opened(context: BrowserContext, url: str, errors: list[str]) -> Page:
    """A page at the start; a script error or a breach of policy ends up in `errors`."""
    page = context.new_page()
    page.set_default_timeout(60_000)
    expect.set_options(timeout=60_000)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda said: errors.append(said.text) if "Security Policy" in said.text else None)
    page.goto(url + "/")
    page.wait_for_selector("textarea")
    return page


@pytest.fixture
def wire(stack: Stack) -> Iterator[Wire]:
    with laid_wire(stack.web_ports[0]) as laid:
        yield laid


def log_in(page: Page, stack: Stack) -> None:
    page.set_default_timeout(60_000)
    page.goto(stack.url() + "/login/")
    page.fill("[name=username]", "ann")
    page.fill("[name=password]", "a good password")
    page.keyboard.press("Enter")
    page.wait_for_selector("textarea")
