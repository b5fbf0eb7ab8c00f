"""An application that sends far more than anyone reads, on our server; the word is its stall time."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

from copilot_project.server import PatientSocket, PatientSocketFactory, make_server

MEGABYTE = 1024 * 1024
LET_GO: list[object] = []
TOTAL = int(os.environ.get("FLOOD_MEGABYTES", "300"))


async def flood(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        if scope["path"] == "/deaf":
            await asyncio.sleep(3600)
        for _ in range(TOTAL):
            await send({"type": "websocket.send", "text": "x" * MEGABYTE})
        await send({"type": "websocket.close", "code": 1000})
        return
    headers = [(b"content-type", b"text/plain")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    if scope["path"] == "/flood":
        for _ in range(TOTAL):
            await send({"type": "http.response.body", "body": b"x" * MEGABYTE, "more_body": True})
    body = b"%d" % len(LET_GO) if scope["path"] == "/let-go" else b"done"
    await send({"type": "http.response.body", "body": body})


class CountingSocket(PatientSocket):
    """Tells the test when it was let go."""

    def disconnect_slow(self) -> None:
        LET_GO.append(self)
        super().disconnect_slow()


if __name__ == "__main__":
    PatientSocketFactory.protocol = CountingSocket
    server = make_server(flood, [f"tcp:{os.environ['PORT']}:interface=127.0.0.1"])
    server.stall_seconds = float(sys.argv[1])
    server.run()
