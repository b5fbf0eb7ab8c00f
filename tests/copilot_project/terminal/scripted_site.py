"""A small real HTTP server that speaks the chat API: scripted events, cut connections, errors."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TURN = "0197-turn"
SESSION = "0197-session"
LATER = "0198-later"  # a turn that nobody asked for


@dataclass
class Script:
    """What the server does, and what it saw."""

    chunks: list[dict[str, Any]] = field(default_factory=list)
    cuts: list[int] = field(default_factory=list)  # bytes after which connection n is cut
    statuses: list[int] = field(
        default_factory=list
    )  # answers of the first stream requests, before any stream
    all_paths_stream: bool = False  # the statuses above answer any GET
    refuse: tuple[int, dict[str, Any]] | None = None
    hold_at: int | None = None  # before this chunk, wait for a cancel
    seen: list[tuple[str, str, Any]] = field(default_factory=list)
    resumed_after: list[str] = field(default_factory=list)
    cancelled: threading.Event = field(default_factory=threading.Event)
    later: list[dict[str, Any]] = field(default_factory=list)  # chunks of a turn that comes by itself
    looks: int = 0  # how often the session was read
    url: str = ""

    def session(self) -> dict[str, Any]:
        """Return the session; the turn that comes by itself is there from the second look on."""
        self.looks += 1
        turns = [TURN, *([LATER] if self.later and self.looks > 1 else [])]
        return {"messages": [{"role": "assistant", "metadata": {"turn_id": turn}} for turn in turns]}

    def events(self, after: str, path: str = "") -> Iterator[bytes]:
        start = int(after.partition("-")[2]) + 1 if after else 0
        yield b": keep-alive\n\n"
        for number, chunk in enumerate(self.later if LATER in path else self.chunks):
            if number < start:
                continue
            if number == self.hold_at:
                assert self.cancelled.wait(120)
            yield f"id: 1-{number}\ndata: {json.dumps(chunk)}\n\n".encode()
        yield b"data: [DONE]\n\n"


@contextmanager
def serving(script: Script) -> Iterator[Script]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if not self.path.endswith("/stream") and not script.all_paths_stream:
                self.answer(200, script.session() if self.path.endswith(SESSION) else {"results": []})
                return
            script.resumed_after.append(self.headers.get("Last-Event-ID", ""))
            if script.statuses:
                self.answer(script.statuses.pop(0), {"error": {"message": "not now"}})
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            body = script.events(self.headers.get("Last-Event-ID", ""), self.path)
            limit = script.cuts.pop(0) if script.cuts else None
            sent = 0
            for event in body:
                piece = event if limit is None else event[: limit - sent]
                self.wfile.write(piece)
                self.wfile.flush()
                sent += len(piece)
                if limit is not None and sent >= limit:
                    break
            self.close_connection = True

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
            script.seen.append((self.path, self.headers.get("Authorization", ""), body))
            if script.refuse:
                self.answer(*script.refuse)
            elif self.path == "/api/sessions":
                self.answer(201, {"id": SESSION})
            elif self.path.endswith("/turns"):
                self.answer(202, {"turn": {"id": TURN}})
            else:
                script.cancelled.set()
                self.answer(200, {"cancelled": True})

        def answer(self, status: int, body: dict[str, Any]) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            """Keep the test's output clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    script.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield script
    finally:
        server.shutdown()
        server.server_close()
