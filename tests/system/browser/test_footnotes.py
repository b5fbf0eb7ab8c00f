"""What stands below an answer: pages it read as footnotes, files it made; and pictures the model did not see."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.harness import as_text
from tests.system.browser.conftest import WEB_PORT
from tests.system.browser.steps import send
from tests.system.browser.test_chat_page import DOT, UNSEEN

pytestmark = pytest.mark.browser
PAGE_URL = f"http://127.0.0.1:{WEB_PORT}/page"


class Site(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b"<html><head><title>On ratchets</title></head><body>They only turn forward.</body></html>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        return None


@pytest.fixture
def web() -> Iterator[None]:
    server = ThreadingHTTPServer(("127.0.0.1", WEB_PORT), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield
    server.shutdown()
    server.server_close()


def message() -> str:
    calls = [
        {"id": "a", "name": "web_fetch", "arguments": {"url": PAGE_URL}},
        {
            "id": "b",
            "name": "write_workspace_file",
            "arguments": {"filename": "footnote.png", "content_base64": DOT},
        },
    ]
    steps = [{"tool_calls": calls}, {"text": "Ratchets only turn forward, and here is a dot."}]
    return as_text({"id": "footnotes", "about": PAGE_URL, "steps": steps})


def test_sources_are_footnotes_and_a_made_picture_is_marked_as_unseen(
    page: Page, new_page: Callable[..., Page], web: None, tmp_path: Path
) -> None:
    send(page, message())
    sources = page.get_by_role("complementary", name="Sources")
    expect(sources.get_by_role("link", name="On ratchets")).to_have_attribute("href", PAGE_URL)
    expect(sources).to_contain_text(f"127.0.0.1:{WEB_PORT}")
    made = page.get_by_role("list", name="Files made")
    expect(made.get_by_role("link")).to_have_text(re.compile("footnote.png"))
    expect(page.locator("article figure")).to_contain_text(UNSEEN)
    page.reload()
    expect(sources.get_by_role("listitem")).to_have_count(1)
    expect(made.get_by_role("listitem")).to_have_count(1)
    expect(page.locator("article figure")).to_contain_text(UNSEEN)
    page.screenshot(path=tmp_path / "en.png")

    german = new_page(locale="de-DE")
    german.goto(page.url)
    expect(german.get_by_role("complementary", name="Quellen")).to_be_visible()
    expect(german.get_by_role("list", name="Erstellte Dateien")).to_be_visible()
    german.screenshot(path=tmp_path / "de.png")
