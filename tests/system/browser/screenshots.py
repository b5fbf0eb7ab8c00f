"""Make the pictures in docs/images: `python -m tests.system.browser.screenshots`."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, ViewportSize, expect, sync_playwright

from copilot_project.launcher import ui
from tests.harness import ROOT, Stack, running_stack
from tests.system.browser.conftest import launch, log_in
from tests.system.browser.samples import GREETER, answer_of, asking_agent, locked_agent, spend_for_a_month
from tests.system.browser.steps import answers, send, wait_until_idle

PICTURES = ROOT / "docs" / "images"
SIZE: ViewportSize = {"width": 1280, "height": 800}
CREDENTIALS: list[dict[str, str]] = [
    {
        "provider": "smtp",
        "kind": "user_password",
        "title": "The office mail",
        "host": "mail.example.com",
        "username": "ann@example.com",
        "password": "not-a-real-one",
    },
    {
        "provider": "database",
        "kind": "user_password",
        "title": "The shop",
        "host": "db.example.com",
        "username": "reader",
        "password": "not-a-real-one",
    },
    {"provider": "weather", "kind": "api_key", "title": "Weather", "api_key": "not-a-real-one"},
]
PUBLISHED = {
    "Morning greeter": "Says good morning to everybody on a list.",
    "Name badge": "Writes the badges of a meeting.",
    "Door sign": "Says who is in.",
}
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
        before = answers(page).count()
        send(page, words)
        expect(answers(page)).to_have_count(before + 1)
        wait_until_idle(page)


def building(page: Page, stack: Stack) -> None:
    page.set_viewport_size({"width": 1280, "height": 1060})
    welcome(page, stack)
    send(page, "Build an agent that greets people by name")
    expect(answers(page)).to_have_count(2)
    wait_until_idle(page)
    expect(page.locator(".react-flow__node").filter(has_text="Fill Text Template")).to_be_visible()
    send(page, "run it with name=Anna")
    expect(page.get_by_role("region", name="Results of the agent")).to_contain_text("Hello Anna!")
    wait_until_idle(page)
    send(page, "also count the words")
    changed = page.get_by_role("region", name="Changed the agent")
    expect(changed.locator(".react-flow__node").filter(has_text="Word Character Count")).to_be_visible()
    expect(answers(page)).to_have_count(5)
    wait_until_idle(page)


def question(page: Page, stack: Stack) -> None:
    page.set_viewport_size({"width": 1280, "height": 1060})
    welcome(page, stack)
    send(page, "Build an agent that translates a text")
    card = page.get_by_role("region", name="A question for you")
    card.get_by_role("textbox").last.fill("Portuguese")
    expect(answers(page)).to_have_count(2)
    wait_until_idle(page)


def credential(page: Page, stack: Stack) -> None:
    welcome(page, stack)
    send(page, "run the Send Email block with to_email=anna@example.com, subject=Hello")
    card = page.get_by_role("region", name="Some setup is needed first")
    card.get_by_label("User name").fill("ann@example.com")
    card.get_by_label("Password").fill("not shown to anybody")
    wait_until_idle(page)


def agents(page: Page, stack: Stack) -> None:
    http = stack.client().http
    for agent in (asking_agent("Shall this go out?"), locked_agent(), GREETER | {"name": "Door greeter"}):
        answer_of(http.post("/api/agents", json=agent))
    page.goto(stack.url() + "/library")
    expect(page.get_by_role("link", name=re.compile("Door greeter"))).to_be_visible()


def credentials(page: Page, stack: Stack) -> None:
    http = stack.client().http
    for given in CREDENTIALS:
        answer_of(http.post("/api/credentials", json=given))
    page.goto(stack.url() + "/library/credentials")
    expect(page.get_by_role("listitem").filter(has_text="The office mail")).to_be_visible()


def store(page: Page, stack: Stack) -> None:
    http = stack.client("bob").http
    for name, about in PUBLISHED.items():
        agent = answer_of(http.post("/api/agents", json=GREETER | {"name": name, "description": about}))["id"]
        answer_of(http.post("/api/store", json={"agent_id": agent}))
    page.goto(stack.url() + "/library/store")
    expect(page.get_by_text("bob/morning-greeter")).to_be_visible()


def settings(page: Page, stack: Stack) -> None:
    page.goto(stack.url() + "/account/settings")
    expect(page.get_by_role("heading", name="Appearance")).to_be_visible()


def library(page: Page, stack: Stack) -> None:
    page.goto(stack.url() + "/library")
    page.get_by_role("link", name=re.compile("Greeter")).first.click()
    expect(page.locator(".react-flow__node").filter(has_text="Word Character Count")).to_be_visible()


def run(page: Page, stack: Stack) -> None:
    page.goto(stack.url() + "/library/runs")
    page.get_by_role("link", name=re.compile("Greeter")).first.click()
    expect(page.get_by_text("Hello Anna!")).to_be_visible()
    expect(page.locator(".react-flow__node")).to_have_count(3)


def versions(page: Page, stack: Stack) -> None:
    page.goto(stack.url() + "/library")
    page.get_by_role("link", name=re.compile("Greeter")).first.click()
    page.get_by_role("tab", name="Versions").click()
    page.get_by_role("button", name="Changes").first.click()
    expect(page.get_by_text("Word Character Count").first).to_be_visible()


def review(page: Page, stack: Stack) -> None:
    welcome(page, stack)
    send(page, "Build an agent that greets people by name but asks me first")
    expect(answers(page)).to_have_count(2)
    wait_until_idle(page)
    send(page, "run it with name=Eve")
    expect(page.get_by_role("button", name="Approve")).to_be_visible()
    wait_until_idle(page)


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
    page.get_by_role("dialog").get_by_role("link", name="New conversation").click()
    send(page, "Build an agent that greets people by name")
    expect(answers(page)).to_have_count(2)
    wait_until_idle(page)
    send(page, "run it with name=Anna")
    expect(page.get_by_role("region", name="Results of the agent")).to_contain_text("Hello Anna!")
    wait_until_idle(page)


SCENES: list[Scene] = [
    welcome,
    chat,
    building,
    library,
    run,
    versions,
    review,
    question,
    credential,
    agents,
    credentials,
    store,
    account,
    settings,
    dark,
    phone,
]


def main() -> None:
    if ui.state() != "fresh":
        ui.build()
    PICTURES.mkdir(exist_ok=True)
    expect.set_options(timeout=60_000)
    with (
        tempfile.TemporaryDirectory(prefix="rs-") as home,
        running_stack(Path(home) / "s", workers=1) as stack,
        sync_playwright() as playwright,
    ):
        browser = launch(playwright)
        page = browser.new_page(viewport=SIZE, locale="en-US")
        page.set_default_timeout(60_000)
        log_in(page, stack)
        for scene in SCENES:
            page.set_viewport_size(SIZE)
            scene(page, stack)
            page.mouse.move(0, 0)
            page.wait_for_load_state("networkidle")
            page.screenshot(path=PICTURES / f"{scene.__name__}.png", animations="disabled")
        browser.close()


if __name__ == "__main__":
    main()
