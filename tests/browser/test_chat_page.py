"""The chat page as a person uses it: send, watch, reload, lose the worker, stop, queue."""

from __future__ import annotations

import re
import signal

import pytest
from playwright.sync_api import Page, expect

from tests.browser.steps import answer_text, counted, script, send
from tests.rig import Stack

pytestmark = pytest.mark.browser


def test_message_is_answered_and_the_conversation_gets_a_name(page: Page) -> None:
    send(page, "Show me a markdown table")
    expect(page.locator("article table")).to_be_visible()
    expect(page).to_have_url(re.compile(r"/c/[0-9a-f-]{36}$"))
    expect(page.locator("nav li").first).to_contain_text("markdown", ignore_case=True)


def test_reload_in_the_middle_of_an_answer_goes_on_without_gap_or_double(page: Page) -> None:
    send(page, script("reload", chunks=80, delay=0.05))
    expect(page.locator("article")).to_contain_text("10 11")
    page.reload()
    expect(page.locator("article")).to_contain_text("78 79")
    assert answer_text(page) == counted(80)


def test_killed_worker_shows_the_right_text_once(page: Page, stack: Stack) -> None:
    send(page, script("killed", chunks=60, delay=0.05))
    expect(page.locator("article")).to_contain_text("5 6")
    stack.kill("worker0", signal.SIGKILL)
    stack.start_worker(0)
    expect(page.locator("article")).to_contain_text("58 59")
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    assert answer_text(page) == counted(60)
    assert page.locator("article").count() == 1


def test_stop_keeps_what_was_said_and_the_next_message_is_answered(page: Page) -> None:
    send(page, script("stopped", chunks=2000, delay=0.05))
    expect(page.locator("article")).to_contain_text("5 6")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("article")).to_contain_text("Stopped.")
    send(page, "What is 17 * 23?")
    expect(page.locator("article").last).to_contain_text("391")


def test_message_sent_meanwhile_is_queued_and_can_be_removed(page: Page, stack: Stack) -> None:
    send(page, script("busy", text="first answer", gate="browser-busy"))
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    send(page, "a second thought")
    chips = page.get_by_role("list", name="Queued messages")
    expect(chips).to_contain_text("a second thought")
    chips.get_by_role("button", name="Remove").click()
    expect(chips).to_have_count(0)
    stack.release("browser-busy")
    expect(page.locator("article")).to_contain_text("first answer")


def test_markup_in_an_answer_is_inert(page: Page) -> None:
    # Each of these shows as the words it is.
    evil = '<img src=x onerror="document.title=1"><script>document.title=1</script>[x](javascript:alert(1)) ![p](https://evil.example/?q=1)'
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    send(page, script("evil", text=f"before {evil} after"))
    expect(page.locator("article")).to_contain_text("after")
    assert page.title() != "1"
    assert not [url for url in asked if "evil.example" in url]
    assert page.locator('a[href^="javascript:"]').count() == 0
