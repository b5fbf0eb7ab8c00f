"""The pages by keyboard alone, on a phone, in both themes and languages; axe finds nothing serious on any of them.

`python -m tests.system.browser.matrix` looks at every page in every theme, language and size.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.harness import Stack
from tests.system.browser.pages import (
    DESK,
    OUTSIDE,
    PHONE,
    QUESTION,
    all_pages,
    english_words,
    problems,
    settled,
    too_wide,
)
from tests.system.browser.steps import answers, script, wait_until_idle, walk_to

pytestmark = pytest.mark.browser


@pytest.fixture(scope="session")
def places(stack: Stack) -> dict[str, str]:
    return all_pages(stack)


def test_no_page_has_a_serious_problem_or_is_wider_than_a_phone(
    page: Page, stack: Stack, places: dict[str, str]
) -> None:
    found: dict[str, list[str]] = {}
    page.set_viewport_size(DESK)
    for place in [*places.values(), *OUTSIDE]:
        settled(page, stack.url() + place)
        found[place] = problems(page)
        page.set_viewport_size(PHONE)
        found[place] += too_wide(page)
        page.set_viewport_size(DESK)
    assert {place: wrong for place, wrong in found.items() if wrong} == {}


def test_dark_pages_can_be_read_too(page: Page, stack: Stack, places: dict[str, str]) -> None:
    page.evaluate("localStorage.setItem('ratchet.theme', 'dark')")
    for place in (places["conversation"], places["styleguide"]):
        settled(page, stack.url() + place)
        assert problems(page) == []


def test_conversations_are_in_a_drawer_on_a_phone(new_page: Callable[..., Page], stack: Stack) -> None:
    client = stack.client()
    session = client.new_session(
        title="In the drawer"
    )  # the newest: what is older may be on a later page of the list
    client.wait(client.send(session, "What is 17 * 23?")["id"])
    page = new_page(viewport=PHONE)
    expect(page.get_by_role("navigation")).to_have_count(0)
    page.get_by_role("button", name="Open the menu").click()
    page.get_by_role("dialog").get_by_role("link", name="In the drawer").click()
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


def test_page_speaks_german_where_the_browser_does(
    new_page: Callable[..., Page], stack: Stack, places: dict[str, str]
) -> None:
    page = new_page(locale="de-DE")
    expect(page.get_by_role("heading", name="Was möchtest du erledigen?")).to_be_visible()
    assert page.evaluate("document.documentElement.lang") == "de"
    assert english_words(page) == []
    for name in ("conversation", "agent", "account"):
        settled(page, stack.url() + places[name])
        assert english_words(page) == []
    page.goto(stack.url() + "/account")
    page.get_by_role("tab", name="Einstellungen").click()
    page.get_by_label("Sprache").select_option("en")
    expect(page.get_by_role("heading", name="Appearance")).to_be_visible()
