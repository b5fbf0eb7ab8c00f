"""A receiver of webhooks as somebody else would write it: its own server, its own reading of Standard Webhooks."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.boundary.servers import LocalServer, Received, reply, serve

TOLERANCE_SECONDS = 300


class NotGenuine(Exception):
    """The message does not come from who holds the secret."""


def verify(secret: str, message: Received) -> dict[str, Any]:
    """The body of a genuine message. Written from the specification, without the library the sender uses."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    message_id, stamp = message.headers["webhook-id"], message.headers["webhook-timestamp"]
    if abs(time.time() - int(stamp)) > TOLERANCE_SECONDS:
        raise NotGenuine("too old or too new")
    signed = message_id.encode() + b"." + stamp.encode() + b"." + message.body
    expected = base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
    for signature in message.headers["webhook-signature"].split(" "):
        version, _, value = signature.partition(",")
        if version == "v1" and hmac.compare_digest(value, expected):
            body: dict[str, Any] = json.loads(message.body)
            return body
    raise NotGenuine("no signature fits")


@dataclass(kw_only=True)
class Receiver:
    """Answers with the given statuses one after the other, then with 200."""

    server: LocalServer
    statuses: list[int] = field(default_factory=list)
    body: bytes = b"ok"
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def url(self) -> str:
        return self.server.url("/hooks?place=1")

    @property
    def host(self) -> str:
        return self.server.host

    @property
    def messages(self) -> list[Received]:
        return self.server.received

    @property
    def ids(self) -> list[str]:
        return [message.headers["webhook-id"] for message in self.messages]


@contextlib.contextmanager
def receiving(*statuses: int) -> Iterator[Receiver]:
    """A receiver at work."""

    def answer(handler: BaseHTTPRequestHandler, received: Received) -> None:
        status = receiver.statuses.pop(0) if receiver.statuses else 200
        reply(handler, receiver.body, status=status, headers=receiver.headers)

    with serve(answer) as server:
        receiver = Receiver(server=server, statuses=list(statuses))
        yield receiver
