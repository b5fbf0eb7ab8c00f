"""Files on their way in, past a real virus scanner: by the API, in a message, from tools, blocks and the web."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.harness import Stack, free_port, running_stack
from tests.workspace.clamd import EICAR, running_clamd

WEB_PORT = free_port()
ENCODED = base64.b64encode(EICAR).decode()
DATA_URL = f"data:application/octet-stream;base64,{ENCODED}"


class InfectedSite(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(len(EICAR)))
        self.end_headers()
        self.wfile.write(EICAR)

    def log_message(self, format: str, *args: object) -> None:
        return None


@pytest.fixture(scope="module")
def web() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", WEB_PORT), InfectedSite)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{WEB_PORT}/setup.bin"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def stack(short_tmp: Path, web: str) -> Iterator[Stack]:
    with running_clamd(short_tmp / "clamd") as addresses:
        env = {
            "COPILOT_UPLOAD_SCANNER": addresses["unix"],
            "BOUNDARY_ALLOWED_HOSTS": f"127.0.0.1:{WEB_PORT}",
        }
        with running_stack(short_tmp / "uploads", workers=1, webs=1, env=env) as running:
            yield running


def called(stack: Stack, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """Have the model call tools in one step; answers their outputs as a client sees them."""
    client = stack.client()
    session = client.new_session()
    named = [{"id": f"c{at}", "name": name, "arguments": args} for at, (name, args) in enumerate(calls)]
    turn = client.send(session, {"steps": [{"tool_calls": named}, {"text": "Done."}]})
    assert client.wait(turn["id"])["end_reason"] == "done"
    parts = client.answer(session)["parts"]
    return [part.get("output", part) for part in parts if part["type"].startswith("tool-")]


def test_no_way_in_passes_the_scanner_by(stack: Stack, web: str) -> None:
    client = stack.client()
    infected = client.http.post("/api/files", files={"file": ("a.txt", EICAR)})
    assert (infected.status_code, infected.json()["error"]["code"]) == (422, "file_infected")

    part = {"type": "file", "mediaType": "application/octet-stream", "url": DATA_URL, "filename": "b.bin"}
    message = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "look"}, part]}
    sent = client.http.post("/api/chat", json={"id": client.new_session(), "messages": [message]})
    assert sent.status_code == 422 and "The virus scanner found Eicar-Local" in sent.text

    tools = called(
        stack,
        ("write_workspace_file", {"filename": "c.txt", "content": EICAR.decode()}),
        ("write_workspace_file", {"filename": "d.bin", "content_base64": ENCODED}),
        ("web_fetch", {"url": web, "extract_text": False}),
        ("run_block", {"block_id": "File Store", "input_data": {"file_in": DATA_URL}}),
        ("run_block", {"block_id": "File Store", "input_data": {"file_in": web}}),
    )
    for output in tools:
        assert "The virus scanner found Eicar-Local" in str(output), output
    assert client.http.get("/api/files").json()["results"] == []
    assert stack.sql("SELECT count(*) FROM workspace_looseblob") == [(0,)]


def test_clean_files_come_in_every_way(stack: Stack) -> None:
    client = stack.client("bob")
    clean = client.http.post("/api/files", files={"file": ("a.txt", b"hello")})
    assert clean.status_code == 201
    assert client.http.get(clean.json()["content_url"]).content == b"hello"
    [output] = called(stack, ("write_workspace_file", {"filename": "e.txt", "content": "fine"}))
    assert output["type"] == "workspace_file_written"
