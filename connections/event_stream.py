"""Server-sent events of an MCP server, read block by block until the response has come."""

from __future__ import annotations

import json
from typing import Any

from connections import limits
from connections.errors import ServerMisbehaved

Message = dict[str, Any]


class EventStream:
    """The messages of one event stream; complete once the response to `request_id` is among them."""

    def __init__(self, request_id: str) -> None:
        self.request_id = request_id
        self.messages: list[Message] = []
        self._open_line: list[bytes] = []
        self._data: list[bytes] = []

    def feed(self, block: bytes) -> bool:
        """Read a block; return True when the response has come. Each byte is looked at once."""
        *ended, rest = block.split(b"\n")
        for line in ended:
            self._open_line.append(line)
            whole = b"".join(self._open_line).removesuffix(b"\r")
            self._open_line = []
            if any(self._read_line(part) for part in whole.split(b"\r")):
                return True
        self._open_line.append(rest)
        return False

    def _read_line(self, line: bytes) -> bool:
        if line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" "))
            return False
        if line or not self._data:
            return False
        message = parse_message(b"\n".join(self._data))
        self._data = []
        if message is None:
            return False
        self.messages.append(message)
        if len(self.messages) > limits.MAX_SERVER_MESSAGES:
            raise ServerMisbehaved("The MCP server sent too many messages without a response.")
        return is_response(message, self.request_id)


def is_response(message: Message, request_id: str) -> bool:
    """Return whether a message answers the request; an error before the id was read has the id null."""
    answers = "result" in message or "error" in message
    return answers and (message.get("id") == request_id or (message.get("id") is None and "error" in message))


def parse_message(data: bytes) -> Message | None:
    """Return one JSON-RPC message, or None: an empty event primes a stream that can be resumed."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
