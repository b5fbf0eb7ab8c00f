"""Streaming a turn through /v1, against our own server-sent events of the same turn."""

from __future__ import annotations

import asyncio
import gc
import time
import uuid
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from benchmarks.conversations import claimed_turn, new_session
from benchmarks.replay import finish, stream_words
from benchmarks.side_by_side import Report, Size, alternate, ratio_at_most
from chat.delivery import reader, sse
from chat.models import Turn
from doors.openai import streams
from tests.harness import Stack

TITLE = "CPU of the web process per chunk of a turn, through /v1 and as our own server-sent events"
Stream = Callable[[], AsyncGenerator[bytes]]


def run(stack: Stack, size: Size, report: Report) -> None:
    events = size.pick(500, 5_000, 10_000)
    with asyncio.Runner() as runner:
        lease = claimed_turn(new_session())
        text = stream_words(lease, events)
        finish(lease, text)
        turn = Turn.objects.select_related("session").get(pk=lease.job_id)
        ways = streams_of(turn)

        def measured(way: Stream) -> Callable[[], float]:
            async def once() -> float:
                gc.collect()  # so that no way pays for the objects of the one before it
                gc.disable()
                started = time.process_time()
                async with aclosing(way()) as pieces:
                    async for _ in pieces:
                        pass
                spent = time.process_time() - started
                gc.enable()
                return spent * 1_000_000 / events

            return lambda: runner.run(once())

        runs = {name: measured(way) for name, way in ways.items()}
        for warm_up in runs.values():
            warm_up()
        found = alternate(runs, size.repetitions)
    for name in ("responses", "chat completions"):
        report.add(name, "us", found[name], found["own"], ratio_at_most(1.3))
    report.remark(
        f"{events:,} deltas of one word each, read from the log and written as the bytes of a stream"
    )


def streams_of(turn: Turn) -> dict[str, Stream]:
    turn_id: uuid.UUID = turn.pk
    return {
        "own": lambda: sse.events(reader.read(turn_id), ends_anyway=True),
        "responses": lambda: streams.pieces(streams.response_lines(turn, is_new=False)),
        "chat completions": lambda: streams.pieces(
            streams.completion_lines(turn, is_new=False, include_usage=True)
        ),
    }
