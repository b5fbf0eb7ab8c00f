"""Complete an operation of Ratchet from outside: one file, the standard library only. Copy it into your service.

    complete_by_webhook(url, secret, result={"made": "it"})      # url and secret came with the work
    complete_by_redis("redis://host:6379/0", operation_id, error="No paper.")

As a program: COMPLETION_URL=… COMPLETION_SECRET=… python ratchet_completion.py '{"made": "it"}'
          or: REDIS_URL=… OPERATION_ID=… python ratchet_completion.py '{"made": "it"}'

Both raise OSError when the site cannot be reached; send it again then, as often as you like: the first one counts.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import socket
import ssl
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from typing import Any

SECONDS = 30.0
STREAM = "chat:completions"


class CompletionRefused(Exception):
    """The site has refused the completion; sending the same again does not help."""


def complete_by_webhook(url: str, secret: str, *, result: Any = None, error: str | None = None) -> None:
    """Send a completion that is signed by Standard Webhooks; raises CompletionRefused or OSError."""
    if not url.startswith(("https://", "http://")):
        raise CompletionRefused(f"{url!r} is not a web address.")
    body = json.dumps(completion(result, error)).encode()
    headers = {"Content-Type": "application/json", **signature(secret, body)}
    request = urllib.request.Request(url, data=body, headers=headers, method="POST")  # noqa: S310
    try:
        urllib.request.urlopen(request, timeout=SECONDS).close()  # noqa: S310
    except urllib.error.HTTPError as answer:  # an OSError: 5xx and 429 are worth another try
        if answer.code < 500 and answer.code != 429:
            raise CompletionRefused(
                f"{answer.code}: {answer.read(2000).decode('utf-8', 'replace')}"
            ) from None
        raise


def complete_by_redis(
    redis_url: str, operation_id: str, *, result: Any = None, error: str | None = None
) -> None:
    """Add a completion to the stream of the site's Redis; raises CompletionRefused or OSError."""
    data = json.dumps({"operation_id": operation_id, **completion(result, error)})
    parts = urllib.parse.urlsplit(redis_url)
    with connect(parts) as connection, connection.makefile("rb") as answers:
        if parts.password:
            words = [urllib.parse.unquote(word) for word in (parts.username, parts.password) if word]
            say(connection, answers, "AUTH", *words)
        if parts.scheme != "unix" and parts.path.strip("/"):
            say(connection, answers, "SELECT", parts.path.strip("/"))
        say(connection, answers, "XADD", STREAM, "*", "data", data)


def completion(result: Any, error: str | None) -> dict[str, Any]:
    return {"success": True, "result": result} if error is None else {"success": False, "error": error}


def signature(secret: str, body: bytes) -> dict[str, str]:
    """Return the headers of Standard Webhooks 1.0 for a body."""
    message, moment = f"msg_{uuid.uuid4().hex}", str(int(time.time()))
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = hmac.new(key, f"{message}.{moment}.".encode() + body, hashlib.sha256).digest()
    signed = f"v1,{base64.b64encode(digest).decode()}"
    return {"webhook-id": message, "webhook-timestamp": moment, "webhook-signature": signed}


def connect(parts: urllib.parse.SplitResult) -> socket.socket:
    if parts.scheme == "unix":
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(SECONDS)
        connection.connect(parts.path)
        return connection
    plain = socket.create_connection((parts.hostname or "localhost", parts.port or 6379), timeout=SECONDS)
    if parts.scheme != "rediss":
        return plain
    return ssl.create_default_context().wrap_socket(plain, server_hostname=parts.hostname)


def say(connection: socket.socket, answers: Any, *words: str) -> None:
    """Send one Redis command and read its answer."""
    encoded = [word.encode() for word in words]
    lines = [b"*%d\r\n" % len(encoded), *(b"$%d\r\n%b\r\n" % (len(word), word) for word in encoded)]
    connection.sendall(b"".join(lines))
    answer = answers.readline(65_536)
    if not answer:
        raise ConnectionError("Redis has closed the connection.")
    if answer.startswith(b"-"):
        raise CompletionRefused(answer[1:].decode("utf-8", "replace").strip())
    if answer.startswith(b"$"):
        answers.read(int(answer[1:]) + 2)


if __name__ == "__main__":
    made = json.loads(sys.argv[1])
    if "COMPLETION_URL" in os.environ:
        complete_by_webhook(os.environ["COMPLETION_URL"], os.environ["COMPLETION_SECRET"], result=made)
    else:
        complete_by_redis(os.environ["REDIS_URL"], os.environ["OPERATION_ID"], result=made)
