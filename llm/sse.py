"""Parser for server-sent events, fed with bytes as they arrive."""

from __future__ import annotations


class EventSplitter:
    """Splits bytes into the data of complete events; comments and other fields are dropped."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []  # of a line that has not ended yet
        self._data: list[bytes] = []  # of an event that has not ended yet
        self.strange = b""  # the first line that is not a field of an event stream

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the events that this chunk completes."""
        if b"\n" not in chunk:  # kept apart, so that a huge line costs no repeated copying
            self._pieces.append(chunk)
            return []
        if self._pieces:
            chunk = b"".join((*self._pieces, chunk))
        lines = chunk.split(b"\n")
        rest = lines.pop()
        self._pieces = [rest] if rest else []
        return self._events(lines)

    def close(self) -> list[bytes]:
        """Return the last event of a server that sent no empty line after it."""
        last = b"".join(self._pieces)
        self._pieces = []
        return self._events([last, b""])

    def _events(self, lines: list[bytes]) -> list[bytes]:
        events = []
        for line in lines:
            if line.startswith(b"data:"):
                self._data.append(line[5:].strip())
            elif not line or line == b"\r":
                if self._data:
                    events.append(b"\n".join(self._data))
                    self._data = []
            elif not self.strange and not line.startswith((b":", b"event:", b"id:", b"retry:")):
                self.strange = line[:200]
        return events
