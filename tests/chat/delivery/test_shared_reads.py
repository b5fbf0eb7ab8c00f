"""What many readers of one answer hold is held once."""

from __future__ import annotations

import asyncio
import gc
from concurrent.futures import ThreadPoolExecutor

import pytest

from chat.delivery.shared_reads import SharedReads


class Loaded(list[int]):
    """Something large."""


class Source:
    """Counts how often it is asked."""

    def __init__(self) -> None:
        self.loads = 0

    async def load(self) -> Loaded:
        self.loads += 1
        await asyncio.sleep(0.01)
        return Loaded([self.loads])


async def test_those_that_come_together_load_once_and_hold_the_same() -> None:
    shared: SharedReads[str, Loaded] = SharedReads()
    source = Source()
    found = await asyncio.gather(*(shared.get("turn", source.load) for _ in range(50)))
    assert source.loads == 1
    assert all(one is found[0] for one in found)


async def test_what_nobody_holds_any_more_is_loaded_anew() -> None:
    shared: SharedReads[str, Loaded] = SharedReads()
    source = Source()
    first = await shared.get("turn", source.load)
    assert (await shared.get("turn", source.load)) is first
    del first
    gc.collect()
    assert await shared.get("turn", source.load) == [2]


def test_readers_on_different_loops_do_not_get_into_each_others_way() -> None:
    shared: SharedReads[str, Loaded] = SharedReads()
    source = Source()

    async def many() -> None:
        await asyncio.gather(*(shared.get("turn", source.load) for _ in range(5)))

    with ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(asyncio.run, many()) for _ in range(4)]:
            done.result()
    assert source.loads == 4


async def test_a_load_that_fails_fails_for_its_reader_alone() -> None:
    shared: SharedReads[str, Loaded] = SharedReads()
    source = Source()

    async def fail() -> Loaded:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        await shared.get("turn", fail)
    assert await shared.get("turn", source.load) == [1]
