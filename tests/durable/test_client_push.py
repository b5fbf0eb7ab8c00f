"""The doorbell reaches a person's devices in order; the cancel bell reaches every worker."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import pytest
from channels.layers import BaseChannelLayer, get_channel_layer

from durable import cancellation, client_push, limits
from durable.redis import client
from tests.durable.conftest import OwnRedis, eventually

pytestmark = pytest.mark.usefixtures("redis_server")
SECONDS = 120.0


async def test_a_ring_reaches_every_device_of_a_person_in_order_and_nobody_else() -> None:
    layer: Any = get_channel_layer()
    owner = uuid.uuid4()
    devices = [await layer.new_channel() for _ in range(3)]
    stranger = await layer.new_channel()
    for device in devices:
        await layer.group_add(client_push.group_of(owner), device)
    await layer.group_add(client_push.group_of(uuid.uuid4()), stranger)
    for number in range(50):
        await asyncio.to_thread(client_push.push, owner, "turn.running", number=number)
    for device in devices:
        for number in range(50):
            message = await asyncio.wait_for(layer.receive(device), SECONDS)
            assert message == {
                "type": "client.push",
                "frame": {"type": "turn.running", "number": number},
            }
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(layer.receive(stranger), 0.1)
    await layer.flush()


def test_a_group_name_tells_nothing_and_is_one_channels_accepts() -> None:
    name = client_push.group_of("ann's id")
    assert "ann" not in name
    assert BaseChannelLayer().require_valid_group_name(name)
    assert name != client_push.group_of("bob's id")


def test_a_ring_that_cannot_be_sent_does_not_keep_the_next_ones_back(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    sent: list[str] = []

    class Layer:
        async def group_send(self, group: str, message: dict[str, Any]) -> None:
            kind = message["frame"]["type"]
            if kind == "broken":
                raise TypeError("cannot be packed")
            if kind == "away":
                raise OSError("no Redis")
            if kind == "hanging":
                await asyncio.Event().wait()
            sent.append(kind)

    monkeypatch.setattr(client_push, "get_channel_layer", Layer)
    monkeypatch.setattr(limits, "REDIS_TIMEOUT_SECONDS", 0.05)
    for kind in ("one", "broken", "away", "hanging", "two"):
        client_push.push("owner", kind)
    eventually(lambda: sent == ["one", "two"])
    assert "cannot be packed" in caplog.text


def test_rings_wait_in_a_line_with_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[int] = []
    gate = asyncio.Event()

    class Layer:
        async def group_send(self, group: str, message: dict[str, Any]) -> None:
            await gate.wait()
            sent.append(message["frame"]["number"])

    monkeypatch.setattr(client_push, "get_channel_layer", Layer)
    rung = limits.MAX_UNSENT_RINGS + 500
    for number in range(rung):
        client_push.push("owner", "x", number=number)
    client_push._queue()._loop.call_soon_threadsafe(gate.set)
    eventually(lambda: sent and sent[-1] == rung - 1)
    assert len(sent) <= limits.MAX_UNSENT_RINGS + 1
    assert sent == sorted(sent)


def test_the_cancel_bell_reaches_every_listener_and_garbage_harms_none() -> None:
    heard: list[list[uuid.UUID]] = [[], [], []]
    channels = client().pubsub_numsub(cancellation.CHANNEL)[0][1]
    listeners = [cancellation.listen(each.append) for each in heard]
    eventually(lambda: client().pubsub_numsub(cancellation.CHANNEL)[0][1] >= max(channels, 1))
    first, second = uuid.uuid4(), uuid.uuid4()
    try:

        def all_heard() -> bool:
            cancellation.broadcast(first)
            return all(first in each for each in heard)

        eventually(all_heard)
        client().publish(cancellation.CHANNEL, "garbage")
        client().publish(cancellation.CHANNEL, "")
        cancellation.broadcast(second)
        eventually(lambda: all(each[-1] == second for each in heard))
    finally:
        for listener in listeners:
            listener.cancel()


def test_ringing_without_redis_is_no_error(own_redis: OwnRedis) -> None:
    own_redis.kill()
    cancellation.broadcast(uuid.uuid4())
