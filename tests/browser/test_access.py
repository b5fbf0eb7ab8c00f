"""The pages by keyboard alone, on a phone, in both themes and languages; axe finds nothing serious on any of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from copilot_project.embedded.ui import FRONTEND
from tests.browser.samples import finished_run, greeter
from tests.browser.steps import answers, script, send, wait_until_idle
from tests.rig import Stack

pytestmark = pytest.mark.browser

SERIOUS = {"serious", "critical"}
WIDTH = "Math.max(document.documentElement.scrollWidth, document.querySelector('main').scrollWidth)"
FOCUSED = """() => {
  const at = document.activeElement;
  const role = at.getAttribute('role') || (at.tagName === 'BUTTON' ? 'button' : at.type || at.tagName.toLowerCase());
  return [role, at.getAttribute('aria-label') || at.innerText || ''];
}"""
PHONE: ViewportSize = {"width": 375, "height": 812}
DESK: ViewportSize = {"width": 1440, "height": 900}
QUESTION = {"name": "ask_question", "arguments": {"questions": [{"question": "Why?", "options": ["A", "B"]}]}}
RICH = (
    "A table:\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```python\nprint(1)\n```\n\n[A link](https://example.com)"
)


@pytest.fixture(scope="session")
def places(stack: Stack) -> list[str]:
    """The address of one page of every kind."""
    client = stack.client()
    session = client.new_session(title="Everything at once")
    client.wait(
        client.send(
            session, {"id": "rich", "steps": [{"text": RICH, "tool_calls": [QUESTION]}, {"text": "?"}]}
        )["id"]
    )
    agent = greeter(stack)
    run = finished_run(stack, agent, "Anna")
    pages = [
        "runs",
        "reviews",
        "schedules",
        "triggers",
        "credentials",
        "store",
        f"agents/{agent}",
        f"runs/{run}",
    ]
    return [
        "/",
        f"/c/{session}",
        "/library",
        *(f"/library/{name}" for name in pages),
        "/account",
        "/styleguide",
    ]


def problems(page: Page) -> list[str]:
    """What axe finds serious, each with the first element it concerns."""
    page.evaluate((FRONTEND / "node_modules" / "axe-core" / "axe.min.js").read_text())
    found: dict[str, Any] = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{one['id']}: {one['help']} ({one['nodes'][0]['html'][:200]}; {one['nodes'][0]['failureSummary']})"
        for one in found["violations"]
        if one["impact"] in SERIOUS
    ]


def settled(page: Page, url: str) -> None:
    page.goto(url)
    expect(page.get_by_role("main").locator("header")).to_be_visible()
    expect(page.get_by_text("Loading…")).to_have_count(0)


def test_no_page_has_a_serious_problem_or_is_wider_than_a_phone(
    page: Page, stack: Stack, places: list[str]
) -> None:
    found: dict[str, list[str]] = {}
    for place in places:
        settled(page, stack.url() + place)
        found[place] = problems(page)
        page.set_viewport_size(PHONE)
        if (width := page.evaluate(WIDTH)) > PHONE["width"]:
            found[place].append(f"{width} pixels wide on a phone")
        page.set_viewport_size(DESK)
    assert {place: wrong for place, wrong in found.items() if wrong} == {}


def test_dark_pages_can_be_read_too(page: Page, stack: Stack, places: list[str]) -> None:
    page.evaluate("localStorage.setItem('ratchet.theme', 'dark')")
    for place in (places[1], "/styleguide"):
        settled(page, stack.url() + place)
        assert problems(page) == []


def test_conversations_are_in_a_drawer_on_a_phone(new_page: Callable[..., Page], places: list[str]) -> None:
    page = new_page(viewport=PHONE)
    expect(page.get_by_role("navigation")).to_have_count(0)
    page.get_by_role("button", name="Open the menu").click()
    page.get_by_role("dialog").get_by_role("link", name="Everything at once").first.click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(answers(page)).to_be_visible()


def test_everything_is_reached_by_keyboard(page: Page) -> None:
    page.reload()
    expect(page.locator("textarea")).to_be_focused()
    page.keyboard.type(script("keys", {"tool_calls": [QUESTION]}, {"text": "Well?"}).replace("\n", " "))
    page.keyboard.press("Enter")
    expect(answers(page)).to_contain_text("Well?")
    wait_until_idle(page)
    walk_to(page, "radio")
    page.keyboard.press("Space")
    walk_to(page, "button", "Send answers")
    page.keyboard.press("Enter")
    expect(answers(page)).to_have_count(2)
    wait_until_idle(page)
    page.keyboard.press("Escape")
    walk_to(page, "button", "Actions for", back=True)
    page.keyboard.press("Enter")
    expect(page.get_by_role("menu")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_label("New title")).to_be_focused()
    page.keyboard.type("By keyboard")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("By keyboard")


def walk_to(page: Page, role: str, name: str = "", *, back: bool = False) -> None:
    """Tab until an element of this role and name has the focus."""
    seen = []
    for _ in range(80):
        page.keyboard.press("Shift+Tab" if back else "Tab")
        here = page.evaluate(FOCUSED)
        seen.append(here)
        if here[0] == role and here[1].startswith(name):
            return
    raise AssertionError(f"Nobody gets to {role} {name!r} by Tab; seen {seen}")


def test_page_speaks_german_where_the_browser_does(new_page: Callable[..., Page]) -> None:
    page = new_page(locale="de-DE")
    expect(page.get_by_role("heading", name="Was wollen wir erledigen?")).to_be_visible()
    assert page.evaluate("document.documentElement.lang") == "de"
    send(page, "What is 17 * 23?")
    expect(answers(page)).to_contain_text("391")
    expect(page.get_by_role("button", name="Neu antworten")).to_be_visible()
