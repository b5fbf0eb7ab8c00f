"""Reopening a turn of 10,000 events: our compact replay against reading every entry of the log."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

import redis.asyncio
from django.conf import settings

from benchmarks.conversations import claimed_turn, new_session
from benchmarks.side_by_side import Report, Series, Size, alternate, at_most, ratio_at_most
from chat.delivery import reader
from chat.events import ProseDelta, ProseEnded, ProseStarted, StepStarted, TurnFinished
from chat.models import Turn
from chat.protocol import Framed
from durable import limits
from durable.lease import Lease
from tests.harness import Stack

TITLE = "a turn of many events, from opening to the last byte"
PART = "s0-p0"
ORIGINAL_PAGE = 1_000
Way = Callable[[], Awaitable[int]]


def run(stack: Stack, size: Size, report: Report) -> None:
    events = size.pick(300, 3_000, 10_000)
    with asyncio.Runner() as runner:
        lease = claimed_turn(new_session())
        text = stream_words(lease, events)
        original = "ratchet-bench:original"
        runner.run(write_original(original, events))
        replays = Replays(lease.job_id, text, original)
        compare(runner, "still running", replays, size, report)
        finish(lease, text)
        compare(runner, "over", replays, size, report)
    report.remark(
        f"{events:,} events of one word each; baseline: XRANGE pages of {ORIGINAL_PAGE}, each entry's JSON read "
        "and written again"
    )


def compare(runner: asyncio.Runner, when: str, replays: Replays, size: Size, report: Report) -> None:
    messages: dict[str, int] = {}

    def measured(name: str, way: Way) -> Callable[[], float]:
        async def once() -> float:
            started = time.perf_counter()
            messages[name] = await way()
            return (time.perf_counter() - started) * 1000

        return lambda: runner.run(once())

    ways = {"original": replays.original, "ours": replays.compact}
    for way in ways.values():
        runner.run(way())  # connections and caches
    found = alternate({name: measured(name, way) for name, way in ways.items()}, size.repetitions)
    report.add(f"turn {when}", "ms", found["ours"], found["original"], ratio_at_most(0.1))
    report.add(
        f"turn {when}: messages",
        "",
        Series.of([messages["ours"]]),
        Series.of([messages["original"]]),
        at_most(10),
    )


class Replays:
    """Two ways to show one turn; each returns how many messages it took."""

    def __init__(self, turn_id: uuid.UUID, text: str, original: str) -> None:
        self.turn_id = turn_id
        self.text = text
        self.original_key = original

    async def compact(self) -> int:
        """Read until the client has the whole text, and the end if there is one."""
        shown, count = 0, 0
        async with aclosing(reader.read_compact(self.turn_id)) as batches:
            async for batch in batches:
                for entry in batch:
                    frame = f"id: {entry.at}\ndata: {entry.body}\n\n".encode()
                    count += bool(frame)
                    chunk = json.loads(entry.body)
                    shown += len(chunk.get("delta", ""))
                if shown >= len(self.text):
                    break
        assert shown == len(self.text), (shown, len(self.text))
        return count

    async def original(self) -> int:
        """Read every entry as it was written, on a separate connection."""
        client = redis.asyncio.Redis.from_url(settings.REDIS_URL)
        count = 0
        try:
            async for data in entries(client, self.original_key):
                frame = f"data: {json.dumps(json.loads(data))}\n\n".encode()
                count += bool(frame)
        finally:
            await client.aclose()
        return count


async def entries(client: Any, key: str) -> AsyncIterator[bytes]:
    at = "-"
    while rows := await client.xrange(key, min=at, count=ORIGINAL_PAGE):
        for _, fields in rows:
            yield fields[b"data"]
        at = f"({rows[-1][0].decode()}"


async def write_original(key: str, events: int) -> None:
    client = redis.asyncio.Redis.from_url(settings.REDIS_URL)
    async with client.pipeline(transaction=False) as pipeline:
        for number in range(events):
            chunk: dict[str, Any] = {"type": "text-delta", "id": PART, "delta": word(number)}
            pipeline.xadd(key, {"data": json.dumps(chunk)})
        pipeline.expire(key, 3600)
        await pipeline.execute()
    await client.aclose()


# --- the turn -------------------------------------------------------------------------------------


def word(number: int) -> str:
    return f"word{number} "


def stream_words(lease: Lease, events: int) -> str:
    """Write each word as a separate event, as a slow model would send them."""
    gather, limits.GATHER_SECONDS = limits.GATHER_SECONDS, 0.0
    try:
        lease.emitter.emit(Framed(StepStarted()))
        lease.emitter.emit(Framed(ProseStarted("text", PART)))
        for number in range(events):
            lease.emitter.emit(Framed(ProseDelta("text", PART, word(number))))
            lease.emitter.flush(5)
    finally:
        limits.GATHER_SECONDS = gather
    return "".join(word(number) for number in range(events))


def finish(lease: Lease, text: str) -> None:
    def write() -> None:
        turn = Turn.objects.get(pk=lease.job_id)
        turn.steps.create(number=0, attempt=lease.attempt, parts=[{"kind": "text", "text": text}])
        turn.messages.filter(pk=turn.answer_id).update(text=text)

    ends = [Framed(ProseEnded("text", PART)), Framed(TurnFinished("stop", {}))]
    lease.finish(Turn.COMPLETED, reason=Turn.EndReason.DONE, work=write, events=ends)
