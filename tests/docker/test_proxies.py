"""What nginx and Caddy do with the files of docker/: pass streams on at once, keep no connection, favour nobody."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from tests.harness import eventually, free_port
from tests.needs import CADDY, NGINX, require
from tests.system.deployment.proxy import PROGRAMS, Program, program

NEEDS = {"nginx": NGINX, "caddy": CADDY}
SECONDS = 60.0
REQUESTS = 8


class Upstream(ThreadingHTTPServer):
    """A web process as a proxy sees it; it knows what it was asked, and on how many connections."""

    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", port), Answers)
        self.asked: list[str] = []
        self.connections = 0
        self.go_on = threading.Event()

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections += 1
        super().process_request(request, client_address)


class Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Upstream

    def do_GET(self) -> None:
        """Say which process this is; a stream says a first word, and the last one when it is told to."""
        self.server.asked.append(self.path)
        words = [str(self.server.server_port).encode()]
        if self.path == "/stream":
            words = [b"first\n", b"last\n"]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if len(words) > 1 else "text/plain")
        self.send_header("Content-Length", str(sum(map(len, words))))
        self.end_headers()
        for number, word in enumerate(words):
            if number and not self.server.go_on.wait(SECONDS):
                self.close_connection = True  # the client has not heard the first word: no second one comes
                return
            self.wfile.write(word)
            self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        """Nobody reads it."""


@contextmanager
def serving(port: int) -> Iterator[Upstream]:
    with Upstream(port) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()


@pytest.fixture(params=PROGRAMS)
def proxy(request: pytest.FixtureRequest) -> Iterator[tuple[Program, list[Upstream]]]:
    """One of them, in front of two web processes."""
    require(NEEDS[request.param])
    with ExitStack() as around:
        upstreams = [around.enter_context(serving(free_port())) for _ in range(2)]
        ports = [upstream.server_port for upstream in upstreams]
        running = around.enter_context(program(PROGRAMS[request.param], ports))
        eventually(lambda: answers(running), what="the proxy")
        yield running, upstreams


def answers(proxy: Program) -> bool:
    assert proxy.process is not None and proxy.process.poll() is None, (
        proxy.folder / "proxy.log"
    ).read_text()
    try:
        return httpx.get(f"{proxy.url}/", timeout=SECONDS).status_code == 200
    except httpx.HTTPError:
        return False


def test_a_stream_leaves_as_it_comes(proxy: tuple[Program, list[Upstream]]) -> None:
    running, upstreams = proxy
    with httpx.stream("GET", f"{running.url}/stream", timeout=SECONDS) as response:
        lines = response.iter_lines()
        assert next(lines) == "first"
        for upstream in upstreams:
            upstream.go_on.set()
        assert list(lines) == ["last"]


def test_metrics_are_not_for_the_world(proxy: tuple[Program, list[Upstream]]) -> None:
    running, upstreams = proxy
    assert httpx.get(f"{running.url}/metrics", timeout=SECONDS).status_code == 404
    assert not [path for upstream in upstreams for path in upstream.asked if path == "/metrics"]


def test_requests_of_one_client_take_turns_and_each_has_a_connection_of_its_own(
    proxy: tuple[Program, list[Upstream]],
) -> None:
    """A message on a kept connection that is just being closed would be lost, and could not be sent again."""
    running, upstreams = proxy
    before = [len(upstream.asked) for upstream in upstreams]
    with httpx.Client(base_url=running.url, timeout=SECONDS) as client:
        for _ in range(REQUESTS):
            assert client.get("/").status_code == 200
    assert [len(upstream.asked) - asked for upstream, asked in zip(upstreams, before, strict=True)] == [
        REQUESTS // 2
    ] * 2
    assert [upstream.connections for upstream in upstreams] == [len(upstream.asked) for upstream in upstreams]


def test_a_process_that_was_away_for_a_moment_is_asked_again(proxy: tuple[Program, list[Upstream]]) -> None:
    running, upstreams = proxy
    gone, stays = upstreams
    with httpx.Client(base_url=running.url, timeout=SECONDS) as client:
        gone.shutdown()
        gone.server_close()
        for _ in range(REQUESTS):
            assert client.get("/").text == str(stays.server_port)
        with serving(gone.server_port):
            stays.shutdown()
            stays.server_close()
            for _ in range(REQUESTS):
                assert client.get("/").text == str(gone.server_port)
