"""The handler of requests: one thread for each, few at a time, and none that waits behind a slow one."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator

from copilot_project import limits
from copilot_project.web import handler
from copilot_project.web.handler import RequestHandler
from tests.copilot_project.web import urls

pytestmark = [
    pytest.mark.urls("tests.copilot_project.web.urls"),
    pytest.mark.django_db(transaction=True),
]
SECONDS = 20


class Answer:
    """What the handler has sent."""

    def __init__(self, messages: list[dict[str, Any]]) -> None:
        self.status = messages[0]["status"]
        self.headers = {name.lower(): value for name, value in messages[0]["headers"]}
        self.body = b"".join(message.get("body", b"") for message in messages[1:])


def ask(application: RequestHandler, path: str, **scope: Any) -> Any:
    asked = {
        "type": "http", "method": "GET", "path": path, "query_string": b"", "root_path": "",
        "headers": [(b"host", b"testserver")], "client": ("127.0.0.1", 1), "server": ("testserver", 80),
    }  # fmt: skip
    return ApplicationCommunicator(application, asked | scope)  # type: ignore[no-untyped-call]


async def answer(application: RequestHandler, path: str, body: bytes = b"", **scope: Any) -> Answer:
    request = ask(application, path, **scope)
    await request.send_input({"type": "http.request", "body": body})
    messages = [await request.receive_output(SECONDS)]
    while len(messages) == 1 or messages[-1].get("more_body"):
        messages.append(await request.receive_output(SECONDS))
    await request.wait(SECONDS)
    return Answer(messages)


async def test_a_view_runs_on_a_thread_of_the_pool_behind_all_middleware() -> None:
    found = await answer(RequestHandler(), "/thread-name")
    assert found.status == 200
    assert found.body.startswith(b"request")
    assert len(found.headers[b"x-request-id"]) == 36
    assert b"default-src 'self'" in found.headers[b"content-security-policy"]


async def test_an_asynchronous_view_holds_no_thread_of_the_pool() -> None:
    found = await answer(RequestHandler(), "/thread-name-async")
    assert found.body.decode() == threading.current_thread().name


async def test_an_unknown_address_and_a_failing_view_are_answered() -> None:
    application = RequestHandler()
    assert (await answer(application, "/api/nowhere")).status == 404
    assert (await answer(application, "/page/bug")).status == 500


async def test_slow_requests_do_not_hold_up_the_next_ones() -> None:
    urls.release.clear()
    application = RequestHandler()
    slow = [ask(application, "/slow") for _ in range(limits.REQUESTS_AT_ONCE + 1)]
    try:
        for request in slow:
            await request.send_input({"type": "http.request", "body": b""})
        assert (await answer(application, "/thread-name")).status == 200
    finally:
        urls.release.set()
    for request in slow:
        assert (await request.receive_output(SECONDS))["status"] == 200
        await request.receive_output(SECONDS)
        await request.wait(SECONDS)
    assert handler.turnstile()._places._value == limits.REQUESTS_AT_ONCE


async def test_a_client_that_disconnects_leaves_its_place() -> None:
    urls.release.clear()
    request = ask(RequestHandler(), "/slow")
    await request.send_input({"type": "http.request", "body": b""})
    await asyncio.sleep(0.05)
    await request.send_input({"type": "http.disconnect"})
    try:
        await request.wait(SECONDS)
    finally:
        urls.release.set()
    assert await request.receive_nothing()
    assert handler.turnstile()._places._value == limits.REQUESTS_AT_ONCE


async def test_the_body_reaches_the_view() -> None:
    headers = [(b"host", b"testserver"), (b"content-type", b"application/json"), (b"content-length", b"7")]
    found = await answer(RequestHandler(), "/api/echo", b'{"a":1}', method="POST", headers=headers)
    assert found.body == b'{"data":{"a":1}}'


async def test_a_view_whose_client_has_left_still_reads_its_body() -> None:
    urls.release.clear()
    request = ask(
        RequestHandler(), "/late-body", headers=[(b"host", b"testserver"), (b"content-length", b"4")]
    )
    await request.send_input({"type": "http.request", "body": b"kept"})
    await asyncio.sleep(0.05)
    await request.send_input({"type": "http.disconnect"})
    try:
        await request.wait(SECONDS)
    finally:
        urls.release.set()
    assert await asyncio.to_thread(urls.bodies.get, timeout=SECONDS) == b"kept"
