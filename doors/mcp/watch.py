"""Watching a row on the event loop: its progress while it runs, and the row once there is news of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection
from contextlib import aclosing
from dataclasses import dataclass

from chat.delivery import reader
from chat.models import Turn
from chat.threads import in_thread
from doors.mcp import limits, questions, rows
from durable import limits as durable_limits
from durable.wait import wait_on_loop
from executions.models import Execution, NodeExecution
from executions.models.status import Status

TOOL_INPUT = '{"type":"tool-input-available"'


@dataclass(frozen=True, kw_only=True)
class WorkProgress:
    """How far a row has come; `done` only grows."""

    done: int
    message: str


async def follow(row: Turn | Execution, asked: Collection[str] = ()) -> AsyncGenerator[WorkProgress | None]:
    """Yield progress until the row has ended, asks a person, or has taken too long; None while nothing happens.

    `asked` has the keys of questions that the person has been asked already.
    """
    watch = follow_turn(row, asked) if isinstance(row, Turn) else follow_execution(row, asked)
    async with aclosing(watch) as steps:
        async for step in steps:
            yield step


async def follow_turn(turn: Turn, asked: Collection[str]) -> AsyncGenerator[WorkProgress | None]:
    seen, loop = 0, asyncio.get_running_loop()
    until = loop.time() + limits.MAX_CALL_WAIT_SECONDS
    async with aclosing(reader.read(turn.pk)) as batches:
        async for batch in batches:
            if loop.time() > until:
                return
            if not batch:
                if await in_thread(asks_person, turn, asked):
                    return
                yield None
                continue
            seen += len(batch)
            uses = any(entry.body.startswith(TOOL_INPUT) for entry in batch)
            yield WorkProgress(done=seen, message="Using tools." if uses else "Answering.")


def asks_person(row: Turn | Execution, asked: Collection[str]) -> bool:
    """Return whether a person has to decide something that they were not asked yet."""
    found = rows.reread(row)
    return not found.is_terminal and not questions.requests_for(questions.open_reviews(found)).keys() <= set(
        asked
    )


async def follow_execution(
    execution: Execution, asked: Collection[str]
) -> AsyncGenerator[WorkProgress | None]:
    news: asyncio.Queue[WorkProgress] = asyncio.Queue()

    async def look() -> bool | None:
        progress, is_over = await in_thread(progress_of, execution, asked)
        news.put_nowait(progress)
        return True if is_over else None

    wait = asyncio.create_task(wait_on_loop(execution.pk, look, seconds=limits.MAX_CALL_WAIT_SECONDS))
    last = -1
    try:
        while not (wait.done() and news.empty()):
            heard = asyncio.create_task(news.get())
            await asyncio.wait(
                {heard, wait},
                timeout=durable_limits.STATUS_CHECK_SECONDS,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if not heard.done():
                heard.cancel()
                yield None
                continue
            progress = heard.result()
            yield progress if progress.done > last else None
            last = max(last, progress.done)
        await wait
    finally:
        wait.cancel()


def progress_of(execution: Execution, asked: Collection[str]) -> tuple[WorkProgress, bool]:
    """Return how many nodes have ended, and whether there is news: the end, or a question to a person."""
    found = rows.reread(execution)
    assert isinstance(found, Execution)
    ended = NodeExecution.objects.filter(execution_id=found.pk, status=Status.COMPLETED).count()
    message = f"{ended} step{'' if ended == 1 else 's'} done."
    return WorkProgress(done=ended, message=message), found.is_terminal or asks_person(found, asked)
