"""The cost of sending an event: our writer, a bare redis-py pipeline of the same batch, and the original method."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import Callable

import redis
import redis.asyncio
from django.conf import settings

from benchmarks.side_by_side import Report, Size, alternate, cpu_per_item, ratio_at_most
from chat.events import ProseDelta
from chat.protocol import Framed
from durable import limits
from durable.emitter import Emitter
from durable.event_log import START
from durable.ids import new_id
from durable.writer import life_seconds, writer
from tests.harness import Stack

TITLE = "CPU of the process per event, text deltas of 100 busy turns"
TURNS = 100
ROUND_SECONDS = (
    limits.GATHER_SECONDS + 0.005
)  # a little longer than the writer gathers: one event of each per batch


def run(stack: Stack, size: Size, report: Report) -> None:
    rounds = size.pick(5, 60, 150)
    ids = [new_id() for _ in range(TURNS)]
    with asyncio.Runner() as runner:
        found = alternate(
            {
                "original": counted(lambda: runner.run(original_way(rounds // 5)), rounds // 5),
                "pipeline": counted(lambda: bare_pipeline(ids, rounds), rounds),
                "ours": counted(lambda: our_writer(rounds), rounds),
            },
            size.repetitions,
        )
    report.add(
        "against XADD and EXPIRE per event, two awaits",
        "us",
        found["ours"],
        found["original"],
        ratio_at_most(1 / 6),
    )
    report.add(
        "against a bare pipeline of the same batch",
        "us",
        found["ours"],
        found["pipeline"],
        ratio_at_most(1.3),
    )
    report.remark(
        f"batches of {TURNS}: XADD and PUBLISH for each event, in ours and in the bare pipeline alike"
    )


def counted(work: Callable[[], None], rounds: int) -> Callable[[], float]:
    return lambda: cpu_per_item(work, rounds * TURNS)


def words(number: int) -> str:
    return f"word{number} "


def our_writer(rounds: int) -> None:
    emitters = [Emitter(new_id(), 1, after=START, wake=writer().wake) for _ in range(TURNS)]
    for number in range(rounds):
        for emitter in emitters:
            emitter.emit(Framed(ProseDelta("text", "s0-p0", words(number))))
        time.sleep(ROUND_SECONDS)
    for emitter in emitters:
        emitter.flush(5)


def bare_pipeline(ids: list[uuid.UUID], rounds: int) -> None:
    """Send the same commands without ordering, merging, fencing or a buffer of what is not committed."""
    client = redis.Redis.from_url(settings.REDIS_URL)
    names = [f"bare:{one}:{new_id()}" for one in ids]
    for number in range(rounds):
        pipe = client.pipeline(transaction=False)
        for name in names:
            body = json.dumps({"type": "text-delta", "id": "s0-p0", "delta": words(number)})
            at, rest = f"1-{number + 1}", f"1-{number} {body}"
            pipe.xadd(name, {"e": rest}, id=at, maxlen=limits.MAX_LOG_ENTRIES, approximate=True)
            pipe.publish(name, f"{at} {rest}")
        pipe.execute()
        time.sleep(ROUND_SECONDS)
    client.delete(*names)
    client.close()


async def original_way(rounds: int) -> None:
    """Write each event separately, then reset the time to live of the stream."""
    client = redis.asyncio.Redis.from_url(settings.REDIS_URL)
    names = [f"original:{new_id()}" for _ in range(TURNS)]
    for number in range(rounds):
        for name in names:
            body = json.dumps({"type": "text-delta", "id": "s0-p0", "delta": words(number)})
            await client.xadd(name, {"data": body}, maxlen=limits.MAX_LOG_ENTRIES, approximate=True)
            await client.expire(name, life_seconds())
    await client.delete(*names)
    await client.aclose()
