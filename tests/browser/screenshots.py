"""Make the pictures in docs/images: `python -m tests.browser.screenshots`."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

from copilot_project.embedded import ui
from tests.browser.conftest import PROGRAMS, log_in
from tests.browser.samples import spend_for_a_month
from tests.browser.steps import answers, send, wait_until_idle
from tests.rig import ROOT, Stack, running_stack

PICTURES = ROOT / "docs" / "images"
Scene = Callable[[Page, Stack], None]


def welcome(page: Page, stack: Stack) -> None:
    page.goto(stack.url() + "/")
    page.wait_for_selector("textarea")


def chat(page: Page, stack: Stack) -> None:
    for words in (
        "Show me a markdown table",
        "Show me some code",
        "Keep a note in ideas.txt: a bench by the river",
    ):
        send(page, words)
        expect(page.get_by_role("log")).to_contain_text(words)
        wait_until_idle(page)


def building(page: Page, stack: Stack) -> None:
    welcome(page, stack)
    send(page, "Build an agent that greets people by name")
    expect(answers(page)).to_have_count(2)
    wait_until_idle(page)
    expect(page.locator(".react-flow__node").filter(has_text="Fill Text Template")).to_be_visible()
    send(page, "run it with name=Anna")
    expect(page.get_by_role("region", name="What the agent gave")).to_contain_text("Hello Anna!")
    wait_until_idle(page)
    page.get_by_role("region", name="Built the agent").scroll_into_view_if_needed()


def library(page: Page, stack: Stack) -> None:
    page.goto(stack.url() + "/library")
    page.get_by_role("link", name=re.compile("Greeter")).first.click()
    expect(page.locator(".react-flow__node")).to_have_count(3)


def run(page: Page, stack: Stack) -> None:
    page.goto(stack.url() + "/library/runs")
    page.get_by_role("link", name=re.compile("Greeter")).first.click()
    expect(page.get_by_text("Hello Anna!")).to_be_visible()
    expect(page.locator(".react-flow__node")).to_have_count(3)


def account(page: Page, stack: Stack) -> None:
    spend_for_a_month(stack)
    page.goto(stack.url() + "/account")
    expect(page.get_by_role("figure")).to_have_count(2)


def dark(page: Page, stack: Stack) -> None:
    page.evaluate("localStorage.setItem('ratchet.theme', 'dark')")
    page.goto(stack.url() + "/")
    page.get_by_role("navigation").get_by_role("link", name=re.compile("markdown table")).click()
    expect(page.get_by_role("log").get_by_role("table")).to_be_attached()
    wait_until_idle(page)


def phone(page: Page, stack: Stack) -> None:
    page.evaluate("localStorage.removeItem('ratchet.theme')")
    page.set_viewport_size({"width": 375, "height": 812})
    page.goto(stack.url() + "/")
    page.get_by_role("button", name="Open the menu").click()
    page.get_by_role("dialog").get_by_role("link", name=re.compile("Build an agent")).click()
    expect(page.get_by_role("region", name="What the agent gave")).to_contain_text("Hello Anna!")
    page.get_by_role("region", name="Built the agent").scroll_into_view_if_needed()
    expect(page.locator(".react-flow__node")).to_have_count(3)


SCENES: list[Scene] = [welcome, chat, building, library, run, account, dark, phone]


def main() -> None:
    if ui.state() != "fresh":
        ui.build()
    PICTURES.mkdir(exist_ok=True)
    program = next(found for name in PROGRAMS if (found := shutil.which(name)))
    home = Path(tempfile.mkdtemp(prefix="rs-"))
    expect.set_options(timeout=60_000)
    with running_stack(home / "s", workers=1) as stack, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 800}, locale="en-US")
        page.set_default_timeout(60_000)
        log_in(page, stack)
        for scene in SCENES:
            scene(page, stack)
            page.mouse.move(0, 0)
            page.wait_for_load_state("networkidle")
            page.screenshot(path=PICTURES / f"{scene.__name__}.png", animations="disabled")
        browser.close()


if __name__ == "__main__":
    main()
