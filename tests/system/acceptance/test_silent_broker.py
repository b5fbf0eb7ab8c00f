"""A broker that accepts connections and never answers: messages are taken and answered all the same."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from benchmarks.chaos.proxy import Gateway
from tests.harness import PEOPLE, Stack, eventually, running_stack
from tests.services import broker, prepared

__all__ = ["broker", "prepared"]
pytestmark = [pytest.mark.services, pytest.mark.timeout(600)]

MESSAGES = 64
LIMITS = {"COPILOT_MAX_IN_FLIGHT_TURNS_PER_USER": "100", "COPILOT_MAX_RUNNING_TURNS_PER_USER": "100"}
ACCEPTED_SECONDS = 60.0  # for all of them: without a circuit breaker each waits for the broker by itself
ENDED_SECONDS = 240.0


@pytest.fixture
def gateway(broker: str) -> Iterator[Gateway]:
    made = Gateway(urlsplit(broker).port or 5672)
    yield made
    made.close()


@pytest.fixture
def stack(
    short_tmp: Path, prepared: tuple[str, dict[str, str]], broker: str, gateway: Gateway
) -> Iterator[Stack]:
    database, keys = prepared
    parts = urlsplit(broker)
    through = parts._replace(netloc=f"{parts.username}:{parts.password}@127.0.0.1:{gateway.port}").geturl()
    with running_stack(
        short_tmp / "silent", workers=2, database_url=database, keys=keys, broker_url=through, env=LIMITS
    ) as running:
        yield running


def test_64_messages_at_once_are_accepted_and_answered_while_the_broker_is_silent(
    stack: Stack, gateway: Gateway
) -> None:
    clients = [stack.client(name) for name in PEOPLE]
    begun = time.monotonic()
    places = [
        (client, client.new_session()) for client, _ in zip(cycle(clients), range(MESSAGES), strict=False)
    ]
    pace = time.monotonic() - begun  # of this machine, for as many requests that need no broker
    warm = clients[0].send(clients[0].new_session(), {"steps": [{"text": "Warm."}]})
    assert clients[0].wait(warm["id"])["end_reason"] == "done"
    spans: list[float] = []
    gateway.fall_silent()

    def post(place: int) -> str:
        client, session = places[place]
        begun = time.monotonic()
        turn = client.send(session, {"steps": [{"text": f"Answer {place}."}]})
        spans.append(time.monotonic() - begun)
        return str(turn["id"])

    begun = time.monotonic()
    with ThreadPoolExecutor(len(places)) as pool:
        turns = list(pool.map(post, range(len(places))))
    taken = time.monotonic() - begun
    print(
        f"{MESSAGES} at once: all accepted after {taken:.1f} s, the median after {sorted(spans)[MESSAGES // 2]:.1f} s"
    )
    assert taken < ACCEPTED_SECONDS + 5 * pace

    ends: list[str] = []

    def all_done() -> bool:
        ends[:] = [places[number][0].turn(turn)["end_reason"] for number, turn in enumerate(turns)]
        return set(ends) == {"done"}

    what = "every answer, without the broker"
    eventually(all_done, seconds=ENDED_SECONDS, what=what, progress=lambda: ends.count("done"))
    assert all(process.poll() is None for process in stack.processes.values())
    gateway.recover()
    last = clients[0].send(clients[0].new_session(), {"steps": [{"text": "Back."}]})
    assert clients[0].wait(last["id"])["end_reason"] == "done"
