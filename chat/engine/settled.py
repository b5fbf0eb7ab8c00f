"""The settled part of conversations, kept per process as the model reads it; see docs/decisions/history-cache.md."""

from __future__ import annotations

import sys
import threading
import uuid
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from chat import limits
from llm.carry import CARRY
from llm.prefix import StablePrefix

# A session, its branch, where its summary ends, and the model that reads it.
Key = tuple[uuid.UUID, uuid.UUID | None, int, str]
MESSAGE_BYTES = 700  # of a message without its texts: dictionaries and entries of lists


class PageRead(Protocol):
    """What is read of a conversation with every request."""

    @property
    def rows(self) -> Sequence[object]: ...
    @property
    def superseded(self) -> int: ...
    @property
    def before(self) -> int: ...


class CallRead(Protocol):
    """A tool call as it is now; its hash is that of all its values."""

    @property
    def seq(self) -> int: ...


@dataclass(frozen=True, kw_only=True)
class Settled:
    """Exchanges that are over, as a model reads them, and what tells whether they still stand."""

    prefix: StablePrefix
    until: int  # the seq of the first message after them
    superseded: int = 0  # turns of the session
    rows: int = 0  # messages they were made from
    calls: tuple[int, ...] = ()  # the hashes of their tool calls
    size: int = 0

    def stands(self, page: PageRead, calls: Sequence[CallRead]) -> bool:
        """Return whether it is still true, given what was read after it, and all tool calls since the summary.

        Rows of a turn that has ended are never written again, except that the turn may be superseded or deleted, and
        that the results of its tool calls may be replaced, by the end of an operation for example.
        """
        if not self.prefix.messages:
            return True
        now = tuple(hash(call) for call in calls if call.seq < self.until)
        same = page.superseded == self.superseded and page.before == self.rows
        return bool(page.rows) and same and now == self.calls


class SettledCache:
    """The conversations used last, up to a number of bytes."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self._kept: OrderedDict[Key, Settled] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def get(self, key: Key) -> Settled | None:
        """Return what is known of a conversation."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def put(self, key: Key, settled: Settled) -> None:
        """Keep a conversation, and drop those not used for longest where there are too many."""
        with self._lock:
            self._remove(key)
            if settled.size <= self.most_bytes // 2:
                self._kept[key] = settled
                self._size += settled.size
            while self._size > self.most_bytes:
                self._remove(next(iter(self._kept)))

    def clear(self) -> None:
        """Drop everything."""
        with self._lock:
            self._kept.clear()
            self._size = 0

    def __len__(self) -> int:
        return len(self._kept)

    def _remove(self, key: Key) -> None:
        removed = self._kept.pop(key, None)
        self._size -= removed.size if removed is not None else 0


def size_of(message: Mapping[str, Any]) -> int:
    """Return about how many bytes a message takes, twice its texts included: as they are, and written as JSON."""
    texts = [message["content"] or ""]
    if carry := message.get(CARRY):
        texts.append(carry.text)
    texts += [call["function"]["arguments"] for call in message.get("tool_calls") or ()]
    return MESSAGE_BYTES + 2 * sum(map(sys.getsizeof, texts))


SETTLED = SettledCache(limits.MAX_SETTLED_BYTES)
