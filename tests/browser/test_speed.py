"""How much is fetched and drawn. Times are printed; what is asserted is what they come from."""

from __future__ import annotations

import gzip

import pytest
from playwright.sync_api import Page, expect

from copilot_project.embedded.ui import FRONTEND
from tests.browser.samples import long_conversation
from tests.browser.steps import answers, script, send, wait_until_idle
from tests.rig import Stack

pytestmark = pytest.mark.browser

MOST_SCRIPT = 350_000  # bytes, compressed
MESSAGES = 2_000
LONG_TASKS = """(buffered) => {
  window.longTasks = [];
  const note = (entry) => window.longTasks.push(Math.round(entry.duration));
  new PerformanceObserver((list) => list.getEntries().forEach(note)).observe({ type: 'longtask', buffered });
}"""
# Counts drawings, and those that touched anything but the newest answer.
WATCH_DRAWING = """() => {
  window.drawings = { all: 0, elsewhere: [] };
  const log = document.querySelector('[role=log]');
  new MutationObserver((changes) => {
    window.drawings.all += 1;
    const newest = [...document.querySelectorAll('article')].at(-1);
    for (const change of changes) {
      const node = change.target.nodeType === 1 ? change.target : change.target.parentElement;
      const row = node.closest('article, .group\\\\/mine');
      if (row && row !== newest) window.drawings.elsewhere.push(node.outerHTML.slice(0, 200));
    }
  }).observe(log, { subtree: true, childList: true, characterData: true });
}"""


def test_first_page_needs_little_script(page: Page) -> None:
    page.wait_for_load_state("networkidle")
    addresses = page.evaluate("performance.getEntriesByType('resource').map((entry) => entry.name)")
    names = [address.partition("/static/ui/")[2] for address in addresses if address.endswith(".js")]
    sizes = {name: len(gzip.compress((FRONTEND / "dist" / name).read_bytes())) for name in names}
    ready = page.evaluate("Math.round(performance.getEntriesByType('navigation')[0].domComplete)")
    print(
        f"first page: {sum(sizes.values()):,} bytes of script compressed, complete after {ready} ms: {sizes}"
    )
    assert any("Conversation" in name for name in names), "what comes next is fetched ahead, and counts"
    assert sum(sizes.values()) < MOST_SCRIPT


def test_static_files_are_sent_compressed_and_kept(page: Page) -> None:
    with page.expect_response(lambda response: "/assets/index-" in response.url) as found:
        page.reload()
    headers = found.value.all_headers()
    assert headers["content-encoding"] == "gzip"
    assert "immutable" in headers["cache-control"]


def test_conversation_of_two_thousand_messages_opens_with_its_newest_page(page: Page, stack: Stack) -> None:
    session = long_conversation(stack, MESSAGES)
    page.goto(f"{stack.url()}/c/{session}")
    page.evaluate(LONG_TASKS, True)
    expect(answers(page).last).to_contain_text(f"Answer {MESSAGES // 2 - 1}")
    assert answers(page).count() <= 30
    expect(answers(page).last).to_be_in_viewport()
    page.get_by_role("log").evaluate("(log) => log.scrollTo(0, 0)")
    expect(page.get_by_text(f"Question {MESSAGES // 2 - 20}", exact=True)).to_be_attached()
    place = page.get_by_role("log").evaluate("(log) => log.scrollTop")
    assert place > 0, "what was read stayed in place while older messages came in above it"
    assert answers(page).count() <= 60
    page.get_by_role("button", name="Jump to the newest message").click()
    expect(answers(page).last).to_be_in_viewport()
    print(
        f"2,000 messages: {answers(page).count()} answers drawn, long tasks {page.evaluate('window.longTasks')} ms"
    )


def test_sixty_events_a_second_are_drawn_in_few_steps_and_only_where_they_belong(page: Page) -> None:
    send(page, script("before", text="An answer from before."))
    expect(answers(page)).to_contain_text("from before")
    wait_until_idle(page)
    page.evaluate(LONG_TASKS, False)
    send(page, script("sixty", chunks=500, delay=1 / 60))
    expect(answers(page).last).to_contain_text("3 4 5")
    page.evaluate(WATCH_DRAWING)
    expect(answers(page).last).to_contain_text("240 241")
    drawings = page.evaluate("window.drawings")
    long_tasks = page.evaluate("window.longTasks")
    over = [task for task in long_tasks if task > 100]
    print(f"60 events a second: {drawings['all']} drawings, long tasks {long_tasks} ms, over 100 ms: {over}")
    assert drawings["elsewhere"] == []
    assert drawings["all"] < 150
    page.get_by_role("button", name="Stop", exact=True).click()
    wait_until_idle(page)
