"""A conversation over bad connections, several tabs and lost workers: the page ends up right, once, without a blank."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.steps import answer_text, answers, counted, script, send, wait_until_idle
from tests.browser.wire import Wire
from tests.rig import Stack

pytestmark = pytest.mark.browser

# Notes every state in which an answer that had words had fewer, or was not there at all.
WATCH_FOR_BLANKS = """() => {
  window.blanks = [];
  let longest = 0;
  new MutationObserver(() => {
    const words = [...document.querySelectorAll('article .answer')].map((part) => part.innerText).join('').length;
    if (words < longest) window.blanks.push([longest, words]);
    longest = Math.max(longest, words);
  }).observe(document.getElementById('root'), { subtree: true, childList: true, characterData: true });
}"""


def test_network_off_and_on_shows_everything_once_and_never_a_blank(
    new_page: Callable[..., Page], wire: Wire
) -> None:
    page = new_page(wire.url)
    reconnecting = page.get_by_role("status").filter(has_text="Reconnecting")
    send(page, script("network", chunks=90, delay=0.05))
    expect(answers(page)).to_contain_text("10 11")
    page.evaluate(WATCH_FOR_BLANKS)
    wire.cut()
    expect(reconnecting).to_be_visible()
    assert answer_text(page).startswith(counted(12))
    wire.mend()
    expect(reconnecting).to_have_count(0)
    wait_until_idle(page)
    assert answer_text(page) == counted(90)
    assert answers(page).count() == 1
    assert page.evaluate("window.blanks") == []


def test_message_written_offline_is_kept_over_a_reload_and_sent_once(
    new_page: Callable[..., Page], wire: Wire, stack: Stack
) -> None:
    page = new_page(wire.url)
    send(page, script("before", text="We are connected."))
    expect(answers(page)).to_contain_text("connected")
    wait_until_idle(page)
    wire.cut()
    send(page, script("offline", text="It came through."))
    expect(page.get_by_text("Waiting for the connection")).to_be_visible()
    wire.mend()
    page.reload()
    expect(answers(page).last).to_contain_text("It came through.")
    session = page.url.rpartition("/")[2]
    assert len(stack.client().session(session)["messages"]) == 4


def test_two_tabs_show_the_same_words_while_they_come(new_page: Callable[..., Page]) -> None:
    first, second = new_page(), new_page()
    send(first, script("tabs-1", text="Hello from the first."))
    expect(answers(first)).to_contain_text("Hello")
    wait_until_idle(first)
    second.goto(first.url)
    expect(answers(second)).to_contain_text("Hello")
    send(second, script("tabs-2", chunks=60, delay=0.05))
    expect(answers(first).last).to_contain_text("5 6 7")
    expect(answers(first).last).to_have_attribute("aria-busy", "true")
    for page in (first, second):
        wait_until_idle(page)
        assert answer_text(page) == counted(60)
        assert answers(page).count() == 2
    assert first.get_by_role("log").inner_text() == second.get_by_role("log").inner_text()


def test_leaving_a_conversation_does_not_stop_its_answer(page: Page) -> None:
    send(page, script("leaving", chunks=60, delay=0.04))
    expect(answers(page)).to_contain_text("3 4")
    page.get_by_role("link", name="New chat").click()
    expect(page.get_by_role("heading", name="What shall we get done?")).to_be_visible()
    page.go_back()
    wait_until_idle(page)
    assert answer_text(page) == counted(60)


def test_other_conversations_show_that_they_run_and_when_they_need_the_person(
    page: Page, stack: Stack
) -> None:
    question = {"name": "ask_question", "arguments": {"questions": [{"question": "Which colour?"}]}}
    client = stack.client()
    running = client.new_session(title="A long count")
    client.send(running, {"id": "list-run", "steps": [{"text": "x", "gate": "list-run"}]})
    asking = client.new_session(title="A question")
    client.send(asking, {"id": "list-ask", "steps": [{"tool_calls": [question]}, {"text": "Well?"}]})
    rows = page.get_by_role("navigation").get_by_role("listitem")
    expect(rows.filter(has_text="A long count").get_by_role("img", name="Running")).to_be_visible()
    expect(rows.filter(has_text="A question").get_by_role("img", name="Needs you")).to_be_visible()
    stack.release("list-run")
    expect(rows.filter(has_text="A long count").get_by_role("img")).to_have_count(0)
