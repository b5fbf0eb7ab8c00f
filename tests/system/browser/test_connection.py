"""A conversation over bad connections, several tabs and lost workers: the page ends up right, once, without a blank."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.harness import Stack, eventually
from tests.system.browser.steps import answer_text, answers, counted, script, send, wait_until_idle
from tests.system.browser.wire import Wire

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
SHOWN = """(state) => {
  Object.defineProperty(document, 'visibilityState', { get: () => state, configurable: true });
  document.dispatchEvent(new Event('visibilitychange'));
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


def test_connections_that_die_in_silence_are_noticed_and_the_answer_is_whole(
    new_page: Callable[..., Page], wire: Wire, stack: Stack
) -> None:
    page = with_clock(new_page(wire.url))
    send(page, script("silence", chunks=60, delay=0.05))
    expect(answers(page)).to_contain_text("10 11")
    page.evaluate(WATCH_FOR_BLANKS)
    wire.swallow()
    ended(stack, page)
    expect(answers(page)).to_have_attribute("aria-busy", "true")
    page.clock.fast_forward(13_000)  # nothing was heard: the other end is asked
    page.clock.fast_forward(8_000)  # it does not answer
    wait_until_idle(page)
    assert answer_text(page) == counted(60)
    assert answers(page).count() == 1
    assert page.evaluate("window.blanks") == []


@pytest.mark.parametrize("how", ["closed", "hidden"])
def test_after_a_sleep_open_sockets_are_not_believed(
    new_page: Callable[..., Page], wire: Wire, stack: Stack, how: str
) -> None:
    page = with_clock(new_page(wire.url))
    send(page, script(f"sleep-{how}", chunks=60, delay=0.05))
    expect(answers(page)).to_contain_text("10 11")
    page.evaluate(WATCH_FOR_BLANKS)
    if how == "hidden":
        page.evaluate(SHOWN, "hidden")
    wire.swallow()
    ended(stack, page)
    page.clock.fast_forward(40_000)
    if how == "hidden":
        page.evaluate(SHOWN, "visible")
    wait_until_idle(page)
    assert answer_text(page) == counted(60)
    assert page.evaluate("window.blanks") == []


def test_network_that_swallows_everything_is_said_and_nothing_is_lost(
    new_page: Callable[..., Page], wire: Wire, stack: Stack
) -> None:
    page = with_clock(new_page(wire.url))
    reconnecting = page.get_by_role("status").filter(has_text="Reconnecting")
    send(page, script("hole", text="We are connected."))
    expect(answers(page)).to_contain_text("connected")
    wait_until_idle(page)
    wire.swallow(all_to_come=True)
    send(page, script("into-the-hole", text="It came through."))
    page.clock.fast_forward(21_000)  # a sign of life is asked for, and the message not waited for any more
    page.clock.fast_forward(9_000)
    expect(reconnecting).to_be_visible()
    expect(page.get_by_text("Waiting for the connection")).to_be_visible()
    wire.mend()
    page.clock.fast_forward(9_000)  # the attempt that went into the hole is given up
    expect(reconnecting).to_have_count(0)
    expect(answers(page).last).to_contain_text("It came through.")
    wait_until_idle(page)
    session = page.url.rpartition("/")[2]
    assert len(stack.client().session(session)["messages"]) == 4


def with_clock(page: Page) -> Page:
    """The page with a clock that a test can put forward."""
    page.clock.install()
    page.reload()
    page.wait_for_selector("textarea")
    return page


def ended(stack: Stack, page: Page) -> None:
    """Wait until the server has the whole answer, whatever the page knows."""
    client, session = stack.client(), page.url.rpartition("/")[2]
    eventually(lambda: client.session(session)["status"] == "idle", what="the answer")


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


def test_part_of_the_page_that_cannot_be_fetched_says_so_and_comes_with_a_reload(
    new_page: Callable[..., Page],
) -> None:
    page = new_page()
    page.route("**/assets/Library-*.js", lambda route: route.abort())
    page.get_by_role("link", name="Library").click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("This page cannot be shown right now.")
    expect(page.get_by_role("navigation", name="Conversations")).to_be_visible()
    page.unroute("**/assets/Library-*.js")
    alert.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("heading", name="Agents")).to_be_visible()


def test_leaving_a_conversation_does_not_stop_its_answer(page: Page) -> None:
    send(page, script("leaving", chunks=60, delay=0.04))
    expect(answers(page)).to_contain_text("3 4")
    page.get_by_role("link", name="New conversation").click()
    expect(page.get_by_role("heading", name="What would you like to get done?")).to_be_visible()
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
    ended = rows.filter(has_text="A long count").get_by_role("img")
    expect(ended.and_(page.get_by_label("Unread"))).to_be_visible()
    expect(ended).to_have_count(1)  # the answer nobody has read yet is all that is marked
    rows.filter(has_text="A long count").get_by_role("link").click()
    expect(ended).to_have_count(0)
