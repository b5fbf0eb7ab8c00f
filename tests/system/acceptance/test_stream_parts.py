"""Sources, files, unreadable calls and metadata in the stream, for stock AI SDK clients and those that fetch."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.harness import Stack, as_text, free_port, running_stack
from tests.system.acceptance.test_ai_sdk import KINDS, SdkChat, packages

__all__ = ["packages"]
pytestmark = pytest.mark.node
WEB_PORT = free_port()
ROOT_URL = f"http://127.0.0.1:{WEB_PORT}"


class Site(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        known = self.path == "/page"
        body = b"<html><head><title>A page</title></head><body>Words</body></html>"
        self.send_response(200 if known else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        return None


@pytest.fixture(scope="module")
def stack(short_tmp: Path) -> Iterator[Stack]:
    server = ThreadingHTTPServer(("127.0.0.1", WEB_PORT), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    env = {"BOUNDARY_ALLOWED_HOSTS": f"127.0.0.1:{WEB_PORT}"}
    with running_stack(short_tmp / "parts", workers=1, webs=1, env=env) as running:
        yield running
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(("version", "kind"), KINDS)
def test_sources_files_and_unreadable_calls_reach_stock_clients(
    stack: Stack, packages: Path, version: str, kind: str
) -> None:
    chat_id, client = str(uuid.uuid4()), stack.client()
    said = f"Read {ROOT_URL}/page, and {ROOT_URL}/gone."
    first = [
        {"id": "a", "name": "web_fetch", "arguments": {"url": f"{ROOT_URL}/page"}},
        {"id": "b", "name": "web_fetch", "arguments": {"url": f"{ROOT_URL}/gone"}},
        {"id": "c", "name": "web_fetch", "arguments": "{not json"},
    ]
    second = [
        {"id": "d", "name": "web_fetch", "arguments": {"url": f"{ROOT_URL}/page"}},
        {
            "id": "e",
            "name": "write_workspace_file",
            "arguments": {"filename": f"{version}{kind} notes.txt", "content": "x"},
        },
    ]
    steps = [{"tool_calls": first}, {"tool_calls": second}, {"text": "Done."}]
    chat = SdkChat(stack, version, kind, chat_id)
    try:
        chat.do("send", text=as_text({"id": f"parts-{chat_id}", "note": said, "steps": steps}))
        state = chat.do("wait", **{"for": "ready"})
    finally:
        chat.process.kill()
        chat.process.wait(60)
    assert not state["errors"] and state["text"] == "Done."
    unreadable = next(tool for tool in state["tools"] if tool["state"] == "output-error")
    assert "not valid JSON" in unreadable["error"]
    assert state["sources"] == [{"url": f"{ROOT_URL}/page", "title": "A page"}], (
        "once, and none that was not there"
    )
    [file] = state["files"]
    assert file["mediaType"] == "text/plain" and file["url"].endswith(f"#{version}{kind}%20notes.txt")
    assert client.http.get(file["url"]).text == "x"
    assert state["metadata"]["status"] == "completed"

    fetched = client.answer(chat_id)
    assert [part["type"] for part in fetched["parts"]] == state["parts"]
    assert next(part for part in fetched["parts"] if part["type"] == "file")["url"] == file["url"]
    assert fetched["metadata"]["usage"] == state["metadata"]["usage"]


def test_what_a_turn_has_used_is_told_while_it_runs(stack: Stack) -> None:
    client = stack.client()
    session = client.new_session()
    call = {"name": "test_pure", "arguments": {"value": "seven"}}
    turn = client.send(session, {"steps": [{"tool_calls": [call]}, {"text": "Seven."}]})
    client.wait(turn["id"])
    lines = client.http.get(f"/api/turns/{turn['id']}/stream").text.splitlines()
    kinds = [line.split('"')[3] for line in lines if line.startswith('data: {"type":')]
    assert kinds.count("message-metadata") == 1
    assert kinds.index("message-metadata") < kinds.index("tool-output-available") < kinds.index("finish")
