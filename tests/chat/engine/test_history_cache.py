"""The settled part of a conversation is read once per process; what the model is sent never depends on that."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

import llm
from chat import turns
from chat.engine import history, settled
from chat.engine.settled import SETTLED, Settled, SettledCache
from chat.models import Message, Session, Step, Turn
from llm.carry import Carry
from llm.dialects.anthropic import AnthropicDialect
from llm.dialects.chat import ChatDialect
from llm.prefix import PrefixedMessages, StablePrefix
from llm.types import Request
from tests.chat.engine.conftest import run_turn
from tests.offline_server import OfflineServer
from tools.models import ToolCall, call_key

pytestmark = pytest.mark.django_db(transaction=True)
Send = Callable[..., Turn]
ORIGINS = ("one", "other")


@pytest.fixture(autouse=True)
def empty_cache() -> Iterator[None]:
    SETTLED.clear()
    yield
    SETTLED.clear()


def sent(messages: PrefixedMessages, origin: str) -> tuple[bytes, bytes, int]:
    request = Request(model="m", messages=messages)
    chat, anthropic = ChatDialect(origin=origin), AnthropicDialect(origin=origin)
    tokens = llm.estimate_message_tokens(messages)
    return chat.write(request, "m"), anthropic.write(request, "claude"), tokens


def plainly_sent(turn: Turn, origin: str) -> tuple[bytes, bytes, int]:
    """Return the request as it is without anything known, and without a prefix."""
    kept = dict(SETTLED._kept)
    SETTLED.clear()
    messages = list(history.messages_for(turn, origin))
    SETTLED.clear()
    for key, value in kept.items():
        SETTLED.put(key, value)
    return sent(PrefixedMessages(messages, StablePrefix(origin="nobody"), []), origin)


class Conversation:
    """A session that grows and changes at random, in all the ways in which rows of the past are written."""

    def __init__(self, session: Session, seed: int) -> None:
        self.session = session
        self.random = random.Random(seed)
        self.number = 0

    def change(self) -> None:
        changes: list[Callable[[], object]] = [
            *3 * [self.add_turn],
            self.add_continuation,
            self.supersede,
            self.end_operation,
            self.sum_up,
            self.end_early,
            self.delete_turn,
        ]
        self.random.choice(changes)()

    def word(self) -> str:
        self.number += 1
        return f"word {self.number} " + self.random.choice(["plain", "größer", "漢字", '"quoted"', "\u2028"])

    def add_turn(self, *, status: str = Turn.COMPLETED, kind: str = Turn.Kind.MESSAGE) -> Turn:
        turn = Turn.objects.create(
            session=self.session, status=status, kind=kind, note=self.word() if kind == "continuation" else ""
        )
        if kind == Turn.Kind.MESSAGE:
            self.say(turn, Message.Role.USER)
        self.say(turn, Message.Role.ASSISTANT)
        for number in range(self.random.randrange(3)):
            self.add_step(turn, number)
            if self.random.random() < 0.3:
                self.say(turn, Message.Role.USER, steered_step=number + 1)
        return turn

    def add_continuation(self) -> None:
        self.add_turn(kind=Turn.Kind.CONTINUATION)

    def end_early(self) -> None:
        self.add_turn(status=self.random.choice([Turn.CANCELLED, Turn.FAILED]))

    def say(self, turn: Turn, role: str, steered_step: int | None = None) -> None:
        Message.objects.create(
            session=self.session, turn=turn, role=role, text=self.word(), steered_step=steered_step,
            seq=self.session.reserve_seqs(1), context={"page": self.word()} if self.random.random() < 0.2 else None,
        )  # fmt: skip

    def add_step(self, turn: Turn, number: int) -> None:
        parts: list[dict[str, Any]] = [{"kind": "text", "text": self.word()}]
        for index in range(self.random.randrange(3)):
            call_id = f"c{number}-{index}"
            arguments = json.dumps({"what": self.word()})
            parts.append({"kind": "tool", "id": call_id, "name": "look", "arguments": arguments})
            if self.random.random() < 0.9:
                self.record(turn, number, index, call_id)
        given = {"message": {"reasoning_content": self.word(), "encrypted_content": "x\ud800"}, "calls": {}}
        carry = Carry(origin=self.random.choice(ORIGINS), text=json.dumps(given))
        Step.objects.create(
            turn=turn,
            number=number,
            attempt=1,
            parts=parts,
            carry=carry.stored() if self.random.random() < 0.5 else "",
        )

    def record(self, turn: Turn, step: int, index: int, call_id: str) -> None:
        state = self.random.choice([ToolCall.State.SUCCEEDED, ToolCall.State.FAILED, ToolCall.State.STARTED])
        ToolCall.objects.create(
            key=call_key(turn.pk, step, call_id), turn_id=turn.pk, session_id=self.session.pk, step=step, index=index,
            call_id=call_id, name="look", arguments={}, effect="read", state=state, attempt=1,
            result={"found": self.word()},
        )  # fmt: skip

    def supersede(self) -> None:
        """Regenerate an answer: it and all that follows are no longer part of the history."""
        standing = list(self.session.turns.filter(superseded_at=None).order_by("queued_at", "pk"))
        if len(standing) > 3:
            first = standing[-self.random.randrange(1, 4)]
            later = self.session.turns.filter(queued_at__gte=first.queued_at, superseded_at=None)
            later.update(superseded_at=Turn.clock.now())

    def delete_turn(self) -> None:
        standing = list(self.session.turns.filter(superseded_at=None))
        if len(standing) > 5:
            turns.delete(self.random.choice(standing))

    def end_operation(self) -> None:
        calls = list(ToolCall.objects.filter(session_id=self.session.pk))
        if calls:
            call = self.random.choice(calls)
            done = {"state": ToolCall.State.SUCCEEDED, "result": {"done": self.word()}}
            ToolCall.objects.filter(pk=call.pk).update(**done)

    def sum_up(self) -> None:
        if self.random.random() < 0.3:
            users = self.session.messages.filter(role="user", steered_step=None, turn__superseded_at=None)
            places = sorted(seq for seq in users.values_list("seq", flat=True) if seq is not None)[1:]
            if places:
                self.session.summary = self.word()
                self.session.summary_until = self.random.choice(places[: len(places) // 2 + 1])
                self.session.save(update_fields=["summary", "summary_until"])


@pytest.mark.parametrize("seed", range(6))
def test_any_history_is_sent_as_if_nothing_were_kept(session: Session, seed: int) -> None:
    conversation = Conversation(session, seed)
    reused = 0
    for _ in range(40):
        for _ in range(conversation.random.randrange(1, 3)):
            conversation.change()
        running = conversation.add_turn(status=Turn.RUNNING)
        running.session = session
        for origin in ORIGINS:
            expected = plainly_sent(running, origin)
            known = SETTLED.get((session.pk, session.branch, session.summary_until, origin))
            messages = history.messages_for(running, origin)
            assert sent(messages, origin) == expected
            reused += (
                known is not None
                and known.prefix.messages == messages.prefix.messages[: len(known.prefix.messages)]
            )
        Turn.objects.filter(pk=running.pk).update(status=Turn.COMPLETED)
    assert reused > 10, "the sequence never used what was kept"


def test_a_long_conversation_is_read_once(send: Send, session: Session, model: OfflineServer) -> None:
    for number in range(4):
        send({"id": f"t{number}", "steps": [{"text": f"Answer {number}."}]})
    kept = SETTLED.get((session.pk, None, 0, llm.carry_origin(llm.default_model())))
    assert kept is not None and kept.until == 6 and len(kept.prefix.messages) == 6
    with CaptureQueriesContext(connection) as asked:
        send({"id": "last", "steps": [{"text": "The last."}]})
    [read] = [query["sql"] for query in asked if "FROM chat_message m" in query["sql"]]
    assert "m.seq >= 6" in read
    said = [
        message["content"]
        for message in model.requests[-1].body["messages"]
        if message["role"] == "assistant"
    ]
    assert said == [f"Answer {number}." for number in range(4)]


def test_a_regenerated_answer_is_not_sent_again(send: Send, session: Session, model: OfflineServer) -> None:
    for number in range(3):
        send({"id": f"t{number}", "steps": [{"text": f"Answer {number}."}]})
    second = session.turns.order_by("queued_at")[1]
    message = second.messages.get(role=Message.Role.USER)
    again = turns.regenerate(session, message_id=message.pk)
    run_turn(again.turn)
    said = [
        message["content"]
        for message in model.requests[-1].body["messages"]
        if message["role"] == "assistant"
    ]
    assert said == ["Answer 0."]


def test_a_deleted_turn_is_not_sent_again(send: Send, session: Session, model: OfflineServer) -> None:
    for number in range(4):
        send({"id": f"t{number}", "steps": [{"text": f"Answer {number}."}]})
    turns.delete(session.turns.order_by("queued_at")[1])
    send({"id": "last", "steps": [{"text": "The last."}]})
    said = [
        message["content"]
        for message in model.requests[-1].body["messages"]
        if message["role"] == "assistant"
    ]
    assert said == ["Answer 0.", "Answer 2.", "Answer 3."]


def test_what_was_not_used_for_longest_is_dropped() -> None:
    cache = SettledCache(100)
    keys = [(uuid.uuid4(), None, 0, "") for _ in range(3)]
    for key in keys:
        cache.put(key, Settled(prefix=StablePrefix(), until=1, size=40))
        cache.get(keys[0])
    assert cache.get(keys[0]) is not None and cache.get(keys[1]) is None and cache.get(keys[2]) is not None
    cache.put(keys[1], Settled(prefix=StablePrefix(), until=1, size=51))
    assert cache.get(keys[1]) is None, "one conversation may not push out all others"


def test_size_counts_texts_carries_and_arguments() -> None:
    plain = settled.size_of({"role": "user", "content": "x" * 1_000})
    call = {"function": {"name": "f", "arguments": "y" * 1_000}}
    carried = {"role": "assistant", "content": None, "tool_calls": [call], "carry": Carry(text="z" * 1_000)}
    assert plain > 2_000 and settled.size_of(carried) > 4_000
