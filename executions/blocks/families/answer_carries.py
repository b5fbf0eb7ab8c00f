"""What a model wants back with the answers of a conversation that travels through a graph as JSON."""

from __future__ import annotations

import hashlib
import json

from executions.blocks.pins import MISSING
from executions.blocks.schema import Object, Objects
from executions.ports import StorePort, StoreScope
from llm.carry import CARRY, Carry


class AnswerCarries:
    """The carries of one node's answers that called tools, kept in the node's store.

    Never in the conversation itself: that is an output of the node, which people see. The key is the answer's own
    text and calls, so that keeping one twice is as good as once.
    """

    def __init__(self, store: StorePort) -> None:
        self._store = store
        self._known: dict[str, Carry] = {}

    def keep(self, said: Object, carry: Carry) -> None:
        """Keep what came with this answer."""
        if "tool_calls" not in said:
            return
        key = key_of(said)
        self._known[key] = carry
        if carry:
            self._store.put(StoreScope.NODE, key, carry.stored())

    def with_messages(self, messages: Objects) -> Objects:
        """The conversation as it is put before a model, also with what earlier runs of the node kept."""
        return [self._with(message) if message.get("tool_calls") else message for message in messages]

    def _with(self, said: Object) -> Object:
        key = key_of(said)
        if key not in self._known:
            stored = self._store.get(StoreScope.NODE, key)
            self._known[key] = Carry() if stored is MISSING else Carry.read(stored)
        carry = self._known[key]
        return {**said, CARRY: carry} if carry else said


def key_of(said: Object) -> str:
    answer = json.dumps([said.get("content"), said["tool_calls"]], sort_keys=True)
    return f"carry:{hashlib.sha256(answer.encode()).hexdigest()}"
