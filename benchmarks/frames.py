"""Response time of /healthz while four websockets send the largest frames, compared with an idle server."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator

import httpx
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from benchmarks.side_by_side import Report, Series, Size, at_most
from chat import limits
from tests.harness import ROOT, Stack

TITLE = "/healthz while four sockets send frames of the largest size"
SOCKETS = 4
WARM_UP_SECONDS = 1.0
PAUSE_SECONDS = 0.01
HEAD = '{"type":"resume","requestId":"r","id":"x","more":'
KINDS = {
    "one long text": HEAD + json.dumps("a" * (limits.MAX_FRAME_BYTES - 100)) + "}",
    "as many values as may be": HEAD + "[" + "[]," * (limits.MAX_FRAME_TOKENS // 2 - 10) + "1]}",
    "more values than that": HEAD + "[" + "[]," * (limits.MAX_FRAME_BYTES // 3 - 40) + "1]}",
}


def run(stack: Stack, size: Size, report: Report) -> None:
    stack.start_web(0)
    stack.wait_ready(0)
    seconds = size.pick(0.5, 3.0, 10.0)
    waits(stack, WARM_UP_SECONDS)
    for kind in KINDS:
        idle = waits(stack, seconds)
        with senders(stack, kind):
            busy = waits(stack, seconds)
        for share, what in ((0.5, "half"), (0.99, "99 in 100")):
            ours, alone = (Series.of([found.quantile(share)]) for found in (busy, idle))
            report.add(f"{kind}: {what} within", "ms", ours, alone, at_most(100))
    report.remark("each socket sends as fast as the server reads it, and comes again when it is closed")


def waits(stack: Stack, seconds: float) -> Series:
    """Return the response times of /healthz in milliseconds, requested back to back for this long."""
    taken = []
    end = time.monotonic() + seconds
    with httpx.Client(base_url=stack.url(), timeout=30, trust_env=False) as web:
        while time.monotonic() < end:
            began = time.perf_counter()
            assert web.get("/healthz").status_code == 200
            taken.append((time.perf_counter() - began) * 1e3)
            time.sleep(PAUSE_SECONDS)
    return Series.of(taken)


@contextlib.contextmanager
def senders(stack: Stack, kind: str) -> Iterator[None]:
    """Run the sockets in their own process."""
    words = [sys.executable, "-m", "benchmarks.frames", stack.url(), login(), kind]
    process = subprocess.Popen(words, cwd=ROOT)
    time.sleep(WARM_UP_SECONDS)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def login() -> str:
    """Return the cookie of a logged-in user."""
    from django.conf import settings
    from django.test import Client

    from accounts.models import User

    client = Client()
    client.force_login(User.objects.get_or_create(username="sender")[0])
    return f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"


async def send(url: str, cookie: str, frame: str) -> None:
    """Send forever; open a new socket whenever the server closes one that sends too much."""
    address = url.replace("http", "ws", 1) + "/ws/chat/"
    while True:
        with contextlib.suppress(WebSocketException, OSError):
            headers = {"Cookie": cookie, "Origin": url}
            async with connect(address, additional_headers=headers, proxy=None, compression=None) as socket:
                while True:
                    await socket.send(frame)


async def main(url: str, cookie: str, kind: str) -> None:
    await asyncio.gather(*(send(url, cookie, KINDS[kind]) for _ in range(SOCKETS)))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
