"""Dialogs, the drawer of small screens, and what is asked before something is lost."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.harness import Stack
from tests.system.browser.pages import PHONE
from tests.system.browser.samples import greeter, in_django
from tests.system.browser.steps import answers, menu, script, send, wait_until_idle

pytestmark = pytest.mark.browser
NEWER = """
from datetime import timedelta
from django.utils import timezone
from accounts.models import User
from chat.models import Session
ann = User.objects.get(username="ann")
old = timezone.now() - timedelta(days=400)
kept = Session.objects.create(user=ann, title="Kept for years", pinned=True)
Session.objects.filter(pk=kept.pk).update(active_at=old)
made = Session.objects.bulk_create(Session(user=ann, title=f"Newer {number}") for number in range(45))
"""
REMOVE_NEWER = """
from chat.models import Session
Session.objects.filter(title__startswith="Newer ").delete()
Session.objects.filter(title="Kept for years").delete()
"""
FLASHES = """() => {
  window.flashes = 0;
  new MutationObserver(() => {
    if (document.body.innerText.includes('Loading…')) window.flashes += 1;
  }).observe(document.body, { subtree: true, childList: true, characterData: true });
}"""


def test_dialog_begins_at_its_field_without_a_tooltip_and_closes_with_one_escape(
    page: Page, stack: Stack
) -> None:
    page.goto(f"{stack.url()}/library/agents/{greeter(stack)}")
    page.get_by_role("button", name="Run", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("name")).to_be_focused()
    expect(page.get_by_role("tooltip")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)

    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Delete").click()
    expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    expect(page.get_by_role("tooltip")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def test_drawer_opens_without_covering_anything_and_a_phone_has_a_button_for_a_new_conversation(
    new_page: Callable[..., Page], stack: Stack
) -> None:
    page = new_page(viewport=PHONE, has_touch=True, is_mobile=True)
    send(page, script("phone", text="Here I am."))
    wait_until_idle(page)
    page.get_by_role("button", name="Open the menu").tap()
    drawer = page.get_by_role("dialog")
    expect(drawer.get_by_role("link", name="New conversation")).to_be_visible()
    expect(page.get_by_role("tooltip")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(drawer).to_have_count(0)
    page.get_by_role("main").get_by_role("button", name="New conversation", exact=True).tap()
    expect(page).to_have_url(stack.url() + "/")


def test_first_message_shows_no_placeholder_of_a_page(page: Page) -> None:
    page.wait_for_load_state("networkidle")  # what comes next has been fetched ahead
    page.evaluate(FLASHES)
    send(page, script("first", text="At once."))
    expect(answers(page)).to_contain_text("At once.")
    assert page.evaluate("window.flashes") == 0
    wait_until_idle(page)


def test_pinned_conversation_stays_in_sight_behind_many_newer_ones(page: Page, stack: Stack) -> None:
    in_django(stack, NEWER)
    page.reload()
    pinned = page.get_by_role("region", name="Pinned")
    expect(pinned.get_by_role("link", name="Kept for years")).to_be_visible()
    menu(page, "Kept for years", "Unpin")
    expect(pinned.get_by_role("link", name="Kept for years")).to_have_count(0)
    in_django(stack, REMOVE_NEWER)


def test_answering_again_in_the_middle_says_where_the_rest_stays_and_asks(page: Page) -> None:
    for number in range(2):
        send(page, script(f"again{number}", text=f"Answer {number}."))
        expect(answers(page)).to_have_count(number + 1)
        wait_until_idle(page)
    first = answers(page).first
    first.hover()
    first.get_by_role("button", name="Answer again").click()
    dialog = page.get_by_role("dialog", name="Answer again from here?")
    expect(dialog).to_contain_text("What followed this answer stays with the old version")
    dialog.get_by_role("button", name="Cancel").click()
    expect(answers(page)).to_have_count(2)
    answers(page).last.get_by_role("button", name="Answer again").click()  # nothing follows: nothing is asked
    expect(page.get_by_role("status").filter(has_text="2 / 2")).to_be_visible()
    first.hover()
    first.get_by_role("button", name="Answer again").click()
    dialog.get_by_role("button", name="Answer again").click()
    expect(answers(page)).to_have_count(1)
    wait_until_idle(page)
    first.get_by_role(
        "button", name="Previous answer"
    ).click()  # as the dialog said: the rest is with the old version
    expect(answers(page)).to_have_count(2)
    expect(answers(page).last).to_contain_text("Answer 1.")


def test_text_that_is_too_long_for_a_message_becomes_a_file(page: Page) -> None:
    box = page.get_by_role("textbox", name="Message")
    box.evaluate(
        """(area) => {
          const data = new DataTransfer();
          data.setData('text/plain', 'word '.repeat(20000));
          area.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
        }"""
    )
    chips = page.get_by_role("list", name="Attached files")
    expect(chips).to_contain_text("pasted text.txt")
    expect(page.get_by_role("status").filter(has_text=re.compile("100,000 characters"))).to_be_visible()
    expect(box).to_have_value("")

    box.fill("y" * 64_001)
    expect(page.get_by_role("alert")).to_contain_text("64,001 characters")
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_disabled()
    page.get_by_role("button", name="Attach as a file").click()
    expect(chips.get_by_role("listitem")).to_have_count(2)
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_enabled()
    send(page, script("long-text", text="Read in full."))
    expect(answers(page)).to_contain_text("Read in full.")
    expect(page.get_by_role("log").get_by_role("link", name=re.compile("pasted text"))).to_have_count(2)
    wait_until_idle(page)


def test_library_agents_is_the_list_of_agents(page: Page, stack: Stack) -> None:
    greeter(stack)
    page.goto(f"{stack.url()}/library/agents")
    expect(page.get_by_role("heading", name="Agents")).to_be_visible()
    expect(page.get_by_role("link", name=re.compile("Greeter")).first).to_be_visible()


def test_style_guide_is_in_the_menu_of_those_who_administer_only(page: Page) -> None:
    page.get_by_role("button", name="More", exact=True).click()
    expect(page.get_by_role("menuitem", name="API documentation")).to_be_visible()
    expect(page.get_by_role("menuitem", name="Style guide")).to_have_count(0)
