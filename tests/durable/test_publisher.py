"""How many messages several processes send that look at the same queue at the same moment."""

from __future__ import annotations

from typing import Any

import pytest

from durable import limits, publisher
from durable.publisher import Sender


class SlowBroker:
    """Tells every process that asks in the same moment the same depth: what they send arrives after it."""

    def __init__(self) -> None:
        self.depth = 0
        self.asked = 0

    def messages_in(self, producer: Any, queue: str) -> int:
        self.asked += 1
        return self.depth


def send_until_it_asks_again(sender: Sender, broker: SlowBroker) -> int:
    before, sent = broker.asked, 0
    while sender._has_room(None, "turns", limits.MAX_WAITING_POKES):  # type: ignore[arg-type]
        if broker.asked > before + 1:
            return sent
        sent += 1
    return sent


@pytest.mark.parametrize("processes", [1, 4, 8, 20])
def test_each_takes_a_part_of_the_room_that_all_have_seen(
    processes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "BROKER_DEPTH_SECONDS", 60.0)
    most = limits.MAX_WAITING_POKES
    room = most // 4
    broker = SlowBroker()
    broker.depth = most - room
    monkeypatch.setattr(publisher, "messages_in", broker.messages_in)
    senders = [Sender() for _ in range(processes)]
    for _ in range(50):
        broker.depth += sum(send_until_it_asks_again(sender, broker) for sender in senders)
        for sender in senders:
            sender._depths.clear()
    assert most <= broker.depth <= max(most + processes, most - room + processes * room // 4)


def test_a_full_queue_is_not_asked_about_for_every_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BROKER_DEPTH_SECONDS", 60.0)
    broker = SlowBroker()
    broker.depth = limits.MAX_WAITING_POKES
    monkeypatch.setattr(publisher, "messages_in", broker.messages_in)
    sender = Sender()
    assert not any(sender._has_room(None, "turns", broker.depth) for _ in range(100))  # type: ignore[arg-type]
    assert broker.asked == 1
