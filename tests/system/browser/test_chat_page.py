"""The chat page as a person uses it: send, watch, reload, lose the worker, stop, queue."""

from __future__ import annotations

import base64
import re
import signal

import pytest
from playwright.sync_api import FilePayload, Page, expect

from tests.harness import Stack
from tests.system.browser.steps import answer_text, answers, counted, script, send, wait_until_idle

pytestmark = pytest.mark.browser
UNSEEN = re.compile("The AI can.t see this image")
DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
COUNT_ANSWERS = """() => {
  window.mostAnswers = 0;
  const count = () => (window.mostAnswers = Math.max(window.mostAnswers, document.querySelectorAll('article').length));
  new MutationObserver(count).observe(document.getElementById('root'), { subtree: true, childList: true });
}"""
CARRY = """([name, target, kind]) => {
  const carried = new DataTransfer();
  carried.items.add(new File(['words'], name, { type: 'text/plain' }));
  const options = { dataTransfer: carried, clipboardData: carried, bubbles: true };
  const event = kind === 'drop' ? new DragEvent('drop', options) : new ClipboardEvent('paste', options);
  document.querySelector(target).dispatchEvent(event);
}"""


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


def test_newest_words_stay_in_view_until_the_person_scrolls_up_and_sending_leads_back(page: Page) -> None:
    long = "\n\n".join(f"Paragraph {number}." for number in range(40))
    send(page, script("tall", text=long))
    end = page.get_by_text("Paragraph 39.", exact=True)
    expect(end).to_be_in_viewport()
    wait_until_idle(page)
    page.get_by_role("log").hover()
    page.mouse.wheel(0, -900)
    down = page.get_by_role("button", name="Jump to the latest message")
    expect(down).to_be_visible()
    expect(end).not_to_be_in_viewport()
    send(page, script("after", text="Here is the end."))
    expect(page.get_by_text("Here is the end.", exact=True)).to_be_in_viewport()
    wait_until_idle(page)
    expect(down).to_have_count(0)
    expect(answers(page).last.get_by_role("button", name="Answer again")).to_be_in_viewport()


def test_message_sent_while_the_page_still_scrolls_up_leads_back_to_the_end(page: Page) -> None:
    long = "\n\n".join(f"Paragraph {number}." for number in range(40))
    send(page, script("long", text=long))
    expect(page.get_by_text("Paragraph 39.", exact=True)).to_be_in_viewport()
    wait_until_idle(page)
    page.get_by_role("log").hover()
    for number in range(5):
        page.mouse.wheel(0, -900)
        send(page, script(f"end-{number}", text=f"This is end {number}."))
        expect(page.get_by_text(f"This is end {number}.", exact=True)).to_be_in_viewport()
        wait_until_idle(page)


def test_stop_keeps_what_was_said_and_the_next_message_is_answered(page: Page) -> None:
    send(page, script("stopped", chunks=2000, delay=0.05))
    expect(page.locator("article")).to_contain_text("5 6")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("article")).to_contain_text("Stopped.")
    send(page, "What is 17 * 23?")
    expect(page.locator("article").last).to_contain_text("391")


def test_message_sent_meanwhile_is_queued_changed_and_removed(page: Page, stack: Stack) -> None:
    send(page, script("busy", text="first answer", gate="browser-busy"))
    expect(page.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    send(page, "a second thought")
    send(page, script("better", text="second answer"))
    queue = page.get_by_role("list", name="Queued messages")
    second = queue.get_by_role("listitem").filter(has_text="a second thought")
    expect(queue.get_by_role("listitem")).to_have_count(2)
    second.get_by_role("button", name="Edit queued message").click()
    queue.get_by_role("textbox").fill("a third thought")
    page.keyboard.press("Enter")
    third = queue.get_by_role("listitem").filter(has_text="a third thought")
    expect(third).to_be_visible()
    third.get_by_role("button", name="Remove").click()
    expect(queue.get_by_role("listitem")).to_have_count(1)
    stack.release("browser-busy")
    expect(answers(page).last).to_contain_text("second answer")
    expect(queue).to_have_count(0)
    expect(answers(page)).to_have_count(2)


def test_queued_message_keeps_its_lines_when_it_is_changed(page: Page, stack: Stack) -> None:
    send(page, script("lines", text="first answer", gate="browser-lines"))
    expect(page.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    send(page, "one\ntwo")
    queue = page.get_by_role("list", name="Queued messages")
    queue.get_by_role("button", name="Edit queued message").click()
    page.keyboard.press("Control+End")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("three")
    page.keyboard.press("Enter")
    expect(queue.get_by_role("textbox")).to_have_count(0)
    expect(queue).to_contain_text("three")
    (waiting,) = stack.client().session(page.url.rpartition("/")[2])["queued_turns"]
    assert waiting["message"]["content"] == "one\ntwo\nthree"
    stack.release("browser-lines")
    expect(answers(page)).to_have_count(2)
    wait_until_idle(page)


def test_end_of_an_answer_is_said_to_those_who_do_not_see_it(page: Page, stack: Stack) -> None:
    ready = page.get_by_role("status").filter(has_text="The answer is ready.")
    for number in (1, 2):
        send(page, script(f"said-{number}", text=f"Answer {number}.", gate=f"browser-said-{number}"))
        expect(page.get_by_role("button", name="Stop", exact=True)).to_be_visible()
        expect(ready).to_have_count(0)
        stack.release(f"browser-said-{number}")
        expect(ready).to_have_count(1)
        expect(answers(page).last).to_contain_text(f"Answer {number}.")


def test_queued_message_can_steer_the_answer_or_interrupt_it(page: Page, stack: Stack) -> None:
    slow = {"name": "test_sleep", "arguments": {"seconds": 60}}
    send(page, script("steered", {"tool_calls": [slow]}, {"text": "never"}))
    card = page.get_by_role("region", name="Test sleep")
    expect(card.get_by_role("progressbar")).to_have_attribute("aria-valuenow", re.compile(r"\d"))
    send(page, script("now", text="Right away."))
    queue = page.get_by_role("list", name="Queued messages")
    queue.get_by_role("button", name=re.compile("^Steer")).click()
    expect(queue).to_contain_text("Steers the answer")
    queue.get_by_role("button", name=re.compile("^Interrupt")).click()
    expect(answers(page).last).to_contain_text("Right away.")
    expect(answers(page).first).to_contain_text("Stopped.")


def test_failed_answer_says_why_and_retry_answers_it(page: Page) -> None:
    fault = {"status": 400, "error": {"message": "The model is on holiday."}}
    send(page, script("retry", text="Back from holiday.", fault=fault))
    expect(answers(page).get_by_role("alert")).to_be_visible()
    page.evaluate(COUNT_ANSWERS)
    page.get_by_role("button", name="Retry", exact=True).click()
    expect(answers(page)).to_contain_text("Back from holiday.")
    wait_until_idle(page)
    assert page.evaluate("window.mostAnswers") == 1, "the old answer never came back beside the new one"


def test_message_is_edited_and_answered_again(page: Page) -> None:
    send(page, "What is 17 * 23?")
    expect(answers(page)).to_contain_text("391")
    wait_until_idle(page)
    page.get_by_text("What is 17 * 23?").last.hover()
    page.get_by_role("button", name="Edit message").click()
    page.get_by_role("textbox", name="Edit message").fill("What is 2 * 3?")
    page.get_by_role("button", name="Send").first.click()
    expect(answers(page)).to_contain_text("2 * 3 = 6")
    expect(answers(page)).to_have_count(1)
    expect(page.get_by_role("log")).not_to_contain_text("17")
    wait_until_idle(page)
    page.get_by_role("button", name="Answer again").click()
    expect(answers(page)).to_contain_text("2 * 3 = 6")
    expect(answers(page)).to_have_count(1)


def test_files_by_button_drop_and_paste_go_with_the_message(page: Page, stack: Stack) -> None:
    picture = base64.b64decode(DOT)
    page.locator("input[type=file]").set_input_files(
        [FilePayload(name="dot.png", mimeType="image/png", buffer=picture)]
    )
    chips = page.get_by_role("list", name="Attached files")
    expect(chips.get_by_role("listitem")).to_have_count(1)
    page.evaluate(CARRY, ["dropped.txt", "main form", "drop"])
    page.evaluate(CARRY, ["pasted.txt", "textarea", "paste"])
    expect(chips.get_by_role("listitem")).to_have_count(3)
    expect(chips.get_by_role("progressbar")).to_have_count(0)
    expect(page.get_by_text("The current model cannot see images.")).to_be_visible()
    send(page, script("files", text="Got them."))
    expect(answers(page)).to_contain_text("Got them.")
    wait_until_idle(page)
    log = page.get_by_role("log")
    expect(log.get_by_role("img", name="dot.png")).to_be_visible()
    expect(log.get_by_text(UNSEEN)).to_be_visible()
    expect(log.get_by_role("link")).to_have_text(["dropped.txt", "pasted.txt"])
    page.reload()
    expect(log.get_by_text(UNSEEN)).to_be_visible()


def test_reasoning_is_folded_and_code_is_coloured_and_copied(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    code = "```python\ndef greet():\n    return 1\n```"
    send(page, script("reasoned", reasoning="Let me think.", text=code))
    expect(page.get_by_text("Let me think.", exact=True)).to_be_hidden()
    wait_until_idle(page)
    page.get_by_text("Reasoning", exact=True).click()
    expect(page.get_by_text("Let me think.", exact=True)).to_be_visible()
    expect(page.locator("code span[style*='--word-keyword']").first).to_have_text("def")
    page.get_by_role("button", name="Copy code").click()
    assert page.evaluate("navigator.clipboard.readText()") == "def greet():\n    return 1\n"


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
    assert page.locator("article img, article script").count() == 0
    expect(page.get_by_text("Image from evil.example, not loaded")).to_be_visible()
