"""A proxy that adds an API key to each request: the conformance suite knows no keys."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

HOP_BY_HOP = {"connection", "transfer-encoding", "content-length", "keep-alive"}
SECONDS = 120


@contextmanager
def with_key(url: str, key: str) -> Iterator[str]:
    """Return the address of a proxy in front of a site. It passes everything on as it comes, streams too."""
    target = urlsplit(url)

    class Handler(BaseHTTPRequestHandler):
        def pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            sent = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}
            if sent.get("Host") == f"127.0.0.1:{self.server.server_port}":  # type: ignore[attr-defined]
                sent["Host"] = target.netloc
            sent |= {"Authorization": f"Bearer {key}", "Content-Length": str(len(body))}
            server = http.client.HTTPConnection(target.hostname or "", target.port, timeout=SECONDS)
            with suppress(OSError):
                server.request(self.command, self.path, body, sent)
                self.answer(server.getresponse())
            server.close()

        def answer(self, response: http.client.HTTPResponse) -> None:
            self.send_response(response.status)
            for name, value in response.getheaders():
                if name.lower() not in HOP_BY_HOP:
                    self.send_header(name, value)
            self.send_header("Connection", "close")
            self.end_headers()
            while piece := response.read1(65536):
                self.wfile.write(piece)
                self.wfile.flush()

        do_GET = do_POST = do_DELETE = do_OPTIONS = pass_on

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    proxy.daemon_threads = True
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{proxy.server_port}"
    finally:
        proxy.shutdown()
        proxy.server_close()
