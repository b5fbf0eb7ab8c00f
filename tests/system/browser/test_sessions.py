"""The list of conversations: search, rename, pin, delete, export, deep links."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.harness import Stack
from tests.system.browser.conftest import log_in
from tests.system.browser.samples import login_address
from tests.system.browser.steps import answers, menu, script, send, wait_until_idle

pytestmark = pytest.mark.browser


def told(stack: Stack, title: str, text: str) -> str:
    """A conversation with one answer, made behind the page's back."""
    client = stack.client()
    session = client.new_session(title=title)
    client.wait(client.send(session, {"id": title, "steps": [{"text": text}]})["id"])
    return session


def test_conversation_is_found_by_its_words_renamed_pinned_and_deleted(page: Page, stack: Stack) -> None:
    told(stack, "Birds of the coast", "Puffins nest in burrows.")
    nav = page.get_by_role("navigation")
    page.get_by_role("searchbox").fill("puffins")
    expect(nav.get_by_role("listitem")).to_have_count(1)
    expect(nav.get_by_role("listitem")).to_contain_text("Birds of the coast")

    menu(page, "Birds", "Rename")
    page.get_by_label("New title").fill("Seabirds")
    page.keyboard.press("Enter")
    expect(nav.get_by_role("listitem")).to_contain_text("Seabirds")

    page.get_by_role("searchbox").fill("")
    menu(page, "Seabirds", "Pin")
    expect(page.get_by_role("region", name="Pinned")).to_contain_text("Seabirds")

    menu(page, "Seabirds", "Delete")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("“Seabirds” and everything in it will be deleted.")
    dialog.get_by_role("button", name="Cancel").click()
    expect(nav.get_by_role("listitem").filter(has_text="Seabirds")).to_have_count(1)
    menu(page, "Seabirds", "Delete")
    dialog.get_by_role("button", name="Delete").click()
    expect(nav.get_by_role("listitem").filter(has_text="Seabirds")).to_have_count(0)


@pytest.mark.parametrize(("entry", "ending"), [("Export as JSON", ".json"), ("Export as Markdown", ".md")])
def test_conversation_is_exported_whole(page: Page, stack: Stack, entry: str, ending: str) -> None:
    title = f"To keep{ending}"
    told(stack, title, "Worth keeping.")
    with page.expect_download() as download:
        menu(page, title, entry)
    kept = Path(download.value.path()).read_text()
    assert download.value.suggested_filename.endswith(ending)
    assert "Worth keeping." in kept
    assert ending != ".json" or len(json.loads(kept)["messages"]) == 2


def test_deep_link_opens_the_conversation_and_a_wrong_one_says_so(page: Page, stack: Stack) -> None:
    session = told(stack, "Straight here", "You are there.")
    page.goto(f"{stack.url()}/c/{session}")
    expect(answers(page)).to_contain_text("You are there.")
    expect(page).to_have_title(
        re.compile(r"^(\(\d+\) )?Straight here · Ratchet$")
    )  # with how much waits elsewhere
    page.goto(f"{stack.url()}/c/00000000-0000-0000-0000-000000000000")
    expect(page.get_by_role("alert")).to_contain_text("This does not exist, or you do not have access to it.")


def test_suggested_prompt_begins_a_conversation(page: Page) -> None:
    page.get_by_role("main").get_by_role("button", name=re.compile("Show me a markdown table")).click()
    expect(answers(page).get_by_role("table")).to_be_visible()
    wait_until_idle(page)


def test_draft_is_kept_until_it_is_sent(page: Page) -> None:
    page.fill("textarea", script("draft", text="Here it is."))
    page.reload()
    expect(page.locator("textarea")).to_have_value(re.compile("Here it is"))
    page.locator("textarea").press("Enter")
    expect(answers(page)).to_contain_text("Here it is.")
    expect(page.locator("textarea")).to_have_value("")
    send(page, "hello")
    wait_until_idle(page)


def test_visitor_may_talk_without_an_account_and_takes_the_conversation_along(
    new_page: Callable[..., Page], stack: Stack
) -> None:
    page = new_page(storage_state=None)
    send(page, script("visitor", text="Welcome, stranger."))
    expect(answers(page)).to_contain_text("Welcome, stranger.")
    wait_until_idle(page)
    conversation = page.url
    page.get_by_role("link", name="Library").click()
    expect(page.locator("[name=password]")).to_be_visible()
    log_in(page, stack)
    page.goto(conversation)
    expect(answers(page)).to_contain_text("Welcome, stranger.")


def test_printed_link_logs_in_once(new_page: Callable[..., Page], stack: Stack) -> None:
    page = new_page(storage_state=None)
    address = login_address(stack)
    page.goto(address)
    expect(page.get_by_role("navigation").get_by_role("link", name="ann")).to_be_visible()
    stranger = new_page(storage_state=None)
    stranger.goto(address)
    expect(stranger.get_by_role("navigation").get_by_role("link", name="ann")).to_have_count(0)
