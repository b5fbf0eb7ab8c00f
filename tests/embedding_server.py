"""A server that speaks OpenAI's embeddings protocol, with vectors that depend on nothing but the input."""

from __future__ import annotations

import base64
import hashlib
import json
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DIMENSIONS = 8
FAULTS = {  # input that makes the server fail -> status, headers and message
    "too fast": (429, {"Retry-After": "7"}, "Rate limit reached."),
    "broken": (500, {}, "The server had an error."),
    "wrong key": (401, {}, "Incorrect API key provided: sk-secret."),
    "bad input": (400, {}, "This model's maximum context length is 8192 tokens."),
    "gone": (404, {}, "The model does not exist."),
}
SILENCE = "silence"
NONSENSE = "nonsense"


@dataclass
class EmbeddingServer:
    """The address of a running server, and the requests it has had."""

    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)


def vector_of(item: object, dimensions: int = DIMENSIONS) -> list[float]:
    """Return the vector of an input, exact in 32 bits."""
    digest = hashlib.sha256(json.dumps(item).encode()).digest()
    return [digest[number % len(digest)] / 256 - 0.5 for number in range(dimensions)]


def answer(request: dict[str, Any]) -> dict[str, Any]:
    given = request["input"]
    is_one = isinstance(given, str) or all(isinstance(item, int) for item in given)
    items = [given] if is_one else given
    vectors = [vector_of(item, request.get("dimensions", DIMENSIONS)) for item in items]
    in_base64 = request.get("encoding_format") == "base64"
    data = [
        {"object": "embedding", "index": index, "embedding": packed(vector) if in_base64 else vector}
        for index, vector in enumerate(vectors)
    ]
    tokens = sum(len(item) for item in items)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "data": data, "model": request["model"], "usage": usage}


def packed(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


@contextmanager
def embedding_server() -> Iterator[EmbeddingServer]:
    """Run the server during the block."""
    running = EmbeddingServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            running.requests.append(request)
            if request["input"] == SILENCE:
                running.released.wait(60)
                return
            if request["input"] == NONSENSE:
                self.send(200, {}, b"<html>")
            elif fault := FAULTS.get(str(request["input"])):
                status, headers, message = fault
                error = {"message": message, "type": "error", "param": None, "code": None}
                self.send(status, headers, json.dumps({"error": error}).encode())
            else:
                self.send(200, {}, json.dumps(answer(request)).encode())

        def send(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing: the requests are recorded."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    running.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield running
    finally:
        running.released.set()
        server.shutdown()
        server.server_close()
