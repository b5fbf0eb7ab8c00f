"""What an answer looks like: maths, diagrams, lists, code, its end, and the cards it contains."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from playwright.sync_api import Page, expect

from tests.harness import Stack
from tests.system.browser.conftest import WEB_PORT
from tests.system.browser.pages import PHONE, problems
from tests.system.browser.steps import answers, script, send, wait_until_idle

pytestmark = pytest.mark.browser
RED = "rgb(180, 35, 24)"  # of errors, in the light theme
RICH = r"""Euler: \(e^{i\pi}+1=0\), and $\vec{v}=\frac{a}{b}$ costs $5 and $6.

\[ \int_0^\infty e^{-x^2}\,dx = \frac{\sqrt{\pi}}{2} \]

This is code: `\(not maths\)`

```python
print("a line of code that is much too wide for the column of a conversation, so that it has to be scrolled sideways")
```

```mermaid
graph LR
  A[Start] --> B[End]
```

```mermaid
graph LR
  A --> --> B
```

- [x] bought milk
- [ ] called the bank

1. A long item of a list, so long that it takes more than one line in the column of a conversation, and its second
   line hangs below its first word
"""
HANGS = """(item) => {
  const range = document.createRange();
  range.selectNodeContents(item);
  const lefts = [...range.getClientRects()].filter((one) => one.width > 20).map((one) => Math.round(one.left));
  const edge = item.parentElement.getBoundingClientRect().left;
  return lefts.length > 1 && new Set(lefts).size === 1 && lefts[0] > edge + 10;
}"""


def test_maths_diagrams_lists_and_wide_code_are_drawn_and_reached(page: Page) -> None:
    send(page, script("rich", text=RICH))
    wait_until_idle(page)
    answer = answers(page).last
    expect(answer.locator(".katex")).to_have_count(3)
    expect(answer.locator(".katex-display")).to_have_count(1)
    expect(answer.locator(".katex svg").first).not_to_have_css("width", "0px")
    expect(answer).to_contain_text("costs $5 and $6.")
    expect(answer.get_by_role("code").filter(has_text=r"\(not maths\)")).to_have_count(1)
    drawn = answer.get_by_role("img", name="Diagram")
    expect(drawn).to_have_count(1)
    assert drawn.evaluate("(image) => image.decode().then(() => image.naturalWidth)") > 50
    expect(answer).to_contain_text("This diagram cannot be drawn: Parse error on line 2.")
    expect(answer.get_by_role("checkbox", name="Done", exact=True)).to_be_checked()
    expect(answer.get_by_role("checkbox", name="Not done")).not_to_be_checked()
    assert answer.locator("ol > li").evaluate(HANGS)
    code = answer.locator("[data-streamdown=code-block-body]").first
    expect(code).to_have_attribute("tabindex", "0")
    assert problems(page) == []
    page.set_viewport_size(PHONE)
    assert problems(page) == []
    page.set_viewport_size({"width": 1280, "height": 800})


def test_diagrams_are_drawn_where_they_reach_nothing(page: Page, stack: Stack) -> None:
    send(page, script("framed", text='```mermaid\npie\n  "a" : 1\n```'))
    wait_until_idle(page)
    expect(answers(page).get_by_role("img", name="Diagram")).to_have_count(1)
    frame = page.locator("iframe")
    expect(frame).to_have_attribute("sandbox", "allow-scripts")
    answer = page.request.get(stack.url() + "/static/ui/diagram.html")
    policy = answer.headers["content-security-policy"]
    assert "sandbox allow-scripts;" in policy
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'self'" in policy
    inside = frame.content_frame.locator("body")
    assert inside.evaluate("() => window.origin") == "null"


def test_answer_that_is_cut_by_its_length_says_so_and_goes_on(page: Page) -> None:
    send(page, script("cut", text="The first half", finish_reason="length"))
    answer = answers(page).first
    expect(answer).to_contain_text("as long as the model may write at once")
    wait_until_idle(page)
    page.reload()
    answer.get_by_role("button", name="Continue", exact=True).click()
    expect(page.get_by_role("log")).to_contain_text("Continue exactly where you stopped.")
    expect(answers(page)).to_have_count(2)
    wait_until_idle(page)
    expect(answer.get_by_role("button", name="Continue", exact=True)).to_have_count(0)
    expect(answer).to_contain_text("as long as the model may write at once")


def test_card_of_long_work_stands_below_the_words_that_announced_it(page: Page) -> None:
    call = {"name": "test_operation", "arguments": {"note": "baked"}}
    send(page, script("below", {"text": "I begin.", "tool_calls": [call]}, {"text": "It has begun."}))
    card = page.get_by_role("region", name="Test operation")
    expect(card).to_contain_text("The long work is done: baked")
    expect(answers(page)).to_have_count(2)
    wait_until_idle(page)
    said = answers(page).first.inner_text()
    assert said.index("I begin.") < said.index("It has begun.") < said.index("The long work is done: baked")


def test_command_is_shown_and_what_failed_looks_failed(page: Page) -> None:
    call = {"name": "bash_exec", "arguments": {"command": "echo one && exit 3"}}
    send(page, script("command", {"tool_calls": [call]}, {"text": "Look."}))
    wait_until_idle(page)
    command = page.get_by_role("region", name="The command failed")
    expect(command).to_contain_text("$ echo one && exit 3")
    expect(command).to_contain_text("Exit code 3")
    expect(command.locator("span").first).to_have_css("color", RED)


def test_page_that_cannot_be_read_looks_failed(page: Page) -> None:
    with missing_page(WEB_PORT) as address:
        call = {"name": "web_fetch", "arguments": {"url": address}}
        send(page, script("missing", {"tool_calls": [call]}, {"text": "Look."}))
        card = page.get_by_role("region", name="The page could not be read")
        expect(card).to_contain_text("501")  # the site answers until then, however late the tool is called
    wait_until_idle(page)
    expect(card.locator("span").first).to_have_css("color", RED)


@contextmanager
def missing_page(port: int) -> Iterator[str]:
    """Yield the address of a page that a server does not have."""
    server = ThreadingHTTPServer(("127.0.0.1", port), BaseHTTPRequestHandler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{port}/nothing-here"
    server.shutdown()
    server.server_close()


def test_reference_to_a_file_in_a_card_is_a_link(page: Page, stack: Stack) -> None:
    made = stack.client().http.post("/api/files", files={"file": ("a.txt", b"Hello there")}).json()
    call = {"name": "test_pure", "arguments": {"value": f"Kept as {made['reference']}."}}
    send(page, script("linked", {"tool_calls": [call]}, {"text": "Kept."}))
    wait_until_idle(page)
    page.get_by_role("button", name="Details").first.click()
    link = page.get_by_role("link", name=f"workspace://{made['id']}").first
    expect(link).to_have_attribute("href", f"/api/files/{made['id']}/content")


def test_answer_typed_while_the_model_still_writes_is_kept_and_shown_once_sent(page: Page) -> None:
    call = {"name": "ask_question", "arguments": {"questions": [{"question": "Which colour?"}]}}
    send(page, script("typed", {"tool_calls": [call]}, {"chunks": 40, "delay": 0.05}))
    card = page.get_by_role("region", name="A question for you")
    card.get_by_role("textbox").fill("blue")
    wait_until_idle(page)
    expect(card.get_by_role("textbox")).to_have_value("blue")
    card.get_by_role("button", name="Send answers").click()
    expect(answers(page)).to_have_count(2)
    wait_until_idle(page)
    expect(card.get_by_role("textbox")).to_have_count(0)
    expect(card.get_by_role("definition")).to_contain_text("blue")
