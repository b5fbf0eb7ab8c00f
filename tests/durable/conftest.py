"""What the tests of jobs share: a clock that is moved by hand, and small ways to make and look at chores."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pytest_django import Settings
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from durable.redis import client
from tests.durable.fixed_clock import FixedClock
from tests.durable.testjobs.models import Chore
from tests.redis_server import start_server

START = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FixedClock:
    """Chores measure their leases by this one."""
    fixed = FixedClock(START)
    monkeypatch.setattr(Chore, "clock", fixed)
    return fixed


def eventually(look: Callable[[], object], *, seconds: float = 120.0, what: str = "") -> None:
    """Look again and again until it is true; fail when it does not become so in time."""
    deadline = time.monotonic() + seconds
    while not look():
        if time.monotonic() > deadline:
            raise AssertionError(f"Not in {seconds} s: {what or look}")
        time.sleep(0.01)


class OwnRedis:
    """A Redis server of one test, to be killed, frozen and started again."""

    def __init__(self, directory: Path, *, append_only: bool) -> None:
        self.directory = directory
        self.socket = directory / "redis.sock"
        self.append_only = append_only
        self.start()

    def start(self) -> None:
        self.socket.unlink(missing_ok=True)
        self.process = start_server(self.directory, self.socket, append_only=self.append_only)
        eventually(self.answers, what="Redis is up")

    def answers(self) -> bool:
        try:
            return bool(self.client().ping())
        except RedisError:
            return False

    def client(self) -> Redis:
        return Redis.from_url(self.url, decode_responses=True, retry=Retry(NoBackoff(), 0), socket_timeout=5)

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def restart(self) -> None:
        self.kill()
        self.start()

    def signal(self, number: int) -> None:
        self.process.send_signal(number)


@pytest.fixture
def make_redis(settings: Settings) -> Iterator[Callable[..., OwnRedis]]:
    """Start a server of one's own and let this process talk to it."""
    made: list[OwnRedis] = []

    def make(*, append_only: bool = True) -> OwnRedis:
        directory = Path(tempfile.mkdtemp(prefix="ratchet-redis-"))
        made.append(OwnRedis(directory, append_only=append_only))
        settings.REDIS_URL = made[-1].url
        client._forget()
        return made[-1]

    yield make
    for server in made:
        server.kill()
        shutil.rmtree(server.directory, ignore_errors=True)
    client._forget()


@pytest.fixture
def own_redis(make_redis: Callable[..., OwnRedis]) -> OwnRedis:
    return make_redis()
