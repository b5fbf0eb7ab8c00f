"""The hub: nothing published after `watching` entered is missed, whatever happens to the connection."""

from __future__ import annotations

import asyncio
import signal
import threading
import uuid
from collections.abc import Callable

import pytest

from durable import limits
from durable.hub import Hub, loop_hub, watch_in_background
from durable.redis import key
from tests.durable.conftest import OwnRedis, eventually

SECONDS = 120.0


def channel() -> str:
    return key("test", uuid.uuid4())


async def until(look: Callable[[], object], what: str = "") -> None:
    deadline = asyncio.get_running_loop().time() + SECONDS
    while not look():
        if asyncio.get_running_loop().time() > deadline:
            raise AssertionError(f"Not in {SECONDS} s: {what or look}")
        await asyncio.sleep(0.01)


def subscriptions(server: OwnRedis) -> set[str]:
    names = [str(name) for name in server.client().pubsub_channels()]
    return {name for name in names if ":test:" in name or ":events:" in name}


async def test_what_is_published_right_after_entering_is_heard(own_redis: OwnRedis) -> None:
    """The race of subscribe and publish, a hundred times, with many at once."""
    publisher = own_redis.client()

    async def listen(number: int) -> None:
        heard: list[str | None] = []
        name = channel()
        async with loop_hub().watching(name, heard.append):
            publisher.publish(name, str(number))
            await until(lambda: heard == [str(number)])

    for start in range(5):
        await asyncio.gather(*(listen(20 * start + number) for number in range(20)))


async def test_everyone_on_a_channel_hears_and_one_may_leave(own_redis: OwnRedis) -> None:
    name, one, two = channel(), list[str | None](), list[str | None]()
    async with loop_hub().watching(name, one.append):
        async with loop_hub().watching(name, two.append):
            own_redis.client().publish(name, "a")
            await until(lambda: one == two == ["a"])
        own_redis.client().publish(name, "b")
        await until(lambda: one == ["a", "b"])
    assert two == ["a"]


async def test_the_same_listener_twice_is_two_listeners(own_redis: OwnRedis) -> None:
    name, heard = channel(), list[str | None]()
    async with loop_hub().watching(name, heard.append):
        async with loop_hub().watching(name, heard.append):
            pass
        own_redis.client().publish(name, "still here")
        await until(lambda: heard == ["still here"])


async def test_a_listener_that_fails_does_not_deafen_the_others(own_redis: OwnRedis) -> None:
    def broken(payload: str | None) -> None:
        raise ZeroDivisionError

    name, heard = channel(), list[str | None]()
    async with loop_hub().watching(name, broken), loop_hub().watching(name, heard.append):
        for word in ("a", "b"):
            own_redis.client().publish(name, word)
        await until(lambda: heard == ["a", "b"])


async def test_coming_back_while_leaving_is_subscribed(own_redis: OwnRedis) -> None:
    name = channel()
    for number in range(50):
        heard: list[str | None] = []
        async with loop_hub().watching(name, heard.append):
            own_redis.client().publish(name, str(number))
            await until(lambda heard=heard, number=number: heard == [str(number)])  # type: ignore[misc]
        if number % 2:
            await asyncio.sleep(0)
    await until(lambda: not subscriptions(own_redis), "the channel was left")


async def test_after_a_restart_of_redis_everyone_hears_none_and_then_the_news(own_redis: OwnRedis) -> None:
    names = [channel() for _ in range(10)]
    heard: dict[str, list[str | None]] = {name: [] for name in names}
    async with asyncio.TaskGroup() as group:
        done = asyncio.Event()

        async def listen(name: str) -> None:
            async with loop_hub().watching(name, heard[name].append):
                await done.wait()

        for name in names:
            group.create_task(listen(name))
        await until(lambda: subscriptions(own_redis) == set(names))
        for _ in range(3):
            for name in names:
                heard[name].clear()
            await asyncio.to_thread(own_redis.restart)
            await until(lambda: all(heard[name] == [None] for name in names), "everyone heard None")
            for name in names:
                own_redis.client().publish(name, name)
            await until(lambda: all(heard[name] == [None, name] for name in names))
        done.set()


async def test_none_is_told_only_when_the_new_subscription_stands(own_redis: OwnRedis) -> None:
    """Whoever looks for itself on None, and then waits, misses nothing that comes after its look."""
    name, heard = channel(), list[str | None]()

    def look_and_say(payload: str | None) -> None:
        heard.append(payload)
        if payload is None:
            own_redis.client().publish(name, "said on None")

    async with loop_hub().watching(name, look_and_say):
        for count in range(1, 11):
            own_redis.client().client_kill_filter(_type="pubsub", skipme=True)
            await until(lambda count=count: heard == [None, "said on None"] * count)  # type: ignore[misc]


async def test_without_redis_it_enters_too_and_hears_none_once_redis_is_there(
    own_redis: OwnRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "REDIS_TIMEOUT_SECONDS", 0.1)
    own_redis.kill()
    name, heard = channel(), list[str | None]()
    async with loop_hub().watching(name, heard.append):
        assert heard == []
        await asyncio.to_thread(own_redis.start)
        await until(lambda: heard == [None])
        own_redis.client().publish(name, "news")
        await until(lambda: heard == [None, "news"])


async def test_a_hundred_that_come_while_redis_is_down_do_not_wait_one_after_the_other(
    own_redis: OwnRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "REDIS_TIMEOUT_SECONDS", 0.2)
    own_redis.signal(signal.SIGSTOP)
    entered = 0

    async def listen() -> None:
        nonlocal entered
        async with loop_hub().watching(channel(), lambda payload: None):
            entered += 1

    try:
        await asyncio.wait_for(asyncio.gather(*(listen() for _ in range(100))), 10)
    finally:
        own_redis.signal(signal.SIGCONT)
    assert entered == 100
    await until(lambda: not subscriptions(own_redis))


async def test_a_connection_that_hangs_is_noticed_by_its_silence(
    own_redis: OwnRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "KEEP_ALIVE_SECONDS", 0.1)
    monkeypatch.setattr(limits, "REDIS_TIMEOUT_SECONDS", 0.2)
    hub = Hub()
    name, heard = channel(), list[str | None]()
    async with hub.watching(name, heard.append):
        await asyncio.sleep(0.5)
        assert heard == []  # a living one answers the pings
        connection = hub._connection
        own_redis.signal(signal.SIGSTOP)
        try:
            await until(lambda: hub._connection is not connection)
        finally:
            own_redis.signal(signal.SIGCONT)
        await until(lambda: heard[:1] == [None])
        own_redis.client().publish(name, "news")
        await until(lambda: heard[-1] == "news")


async def test_cancelled_watchers_leave_no_subscription_and_no_connection(own_redis: OwnRedis) -> None:
    before = len(own_redis.client().client_list())

    async def watch() -> None:
        async with loop_hub().watching(channel(), lambda payload: None):
            await asyncio.Event().wait()

    watchers = [asyncio.create_task(watch()) for _ in range(200)]
    await asyncio.sleep(0)
    for watcher in watchers[:50]:
        watcher.cancel()  # while they subscribe
    await until(lambda: len(subscriptions(own_redis)) == 150)
    for watcher in watchers:
        watcher.cancel()
    await asyncio.gather(*watchers, return_exceptions=True)
    await until(lambda: not subscriptions(own_redis))
    assert len(own_redis.client().client_list()) <= before + 1
    assert set(loop_hub()._subscriptions) == {key("idle")}


async def test_a_thousand_channels_need_one_connection(own_redis: OwnRedis) -> None:
    before = len(own_redis.client().client_list())
    done = asyncio.Event()

    async def watch() -> None:
        async with loop_hub().watching(channel(), lambda payload: None):
            await done.wait()

    watchers = [asyncio.create_task(watch()) for _ in range(1_000)]
    await until(lambda: len(subscriptions(own_redis)) == 1_000)
    assert len(own_redis.client().client_list()) <= before + 1
    done.set()
    await asyncio.gather(*watchers)
    await until(lambda: not subscriptions(own_redis))


def test_a_watch_in_the_background_ends_when_it_is_cancelled(redis_server: object) -> None:
    from durable.redis import client

    name, heard, ready = channel(), list[str | None](), threading.Event()
    watch = watch_in_background(name, heard.append, ready=ready)
    assert ready.wait(SECONDS)
    client().publish(name, "news")
    eventually(lambda: heard == ["news"])
    watch.cancel()
    eventually(lambda: name not in client().pubsub_channels())
