"""Counters in Redis of events that leave no row, shared by all processes; they may be lost."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from durable.limits import TALLY_FORGET_SECONDS, TALLY_KEEP_SECONDS, TALLY_SPAN_SECONDS
from durable.per_process import submit
from durable.redis import RedisError, answer, async_client, client, key

logger = logging.getLogger(__name__)
KEY = key("tallies")
Counts = dict[tuple[str, str], int]  # by tally and label


class CounterBuffer(StrEnum):
    """The names of the counters."""

    FENCED_WRITES = "fenced_writes"
    RESYNCS = "resyncs"
    DROPPED_CLIENTS = "dropped_clients"
    MODEL_ERRORS = "model_errors"


def count(tally: CounterBuffer, label: str = "") -> None:
    """Increment a counter. Never waits and never fails: the background loop sends it."""
    submit(_add(f"{tally}:{label}"))


async def _add(field: str) -> None:
    """Add to the total, which expires after a long silence, and to the current time bucket."""
    lately = key_of(span_of(time.time()))
    pipeline = async_client().pipeline(transaction=False)
    pipeline.hincrby(KEY, field, 1)
    pipeline.expire(KEY, int(TALLY_FORGET_SECONDS))
    pipeline.hincrby(lately, field, 1)
    pipeline.expire(lately, int(TALLY_KEEP_SECONDS))
    try:
        await answer(pipeline.execute())
    except (RedisError, OSError) as error:
        logger.debug("A tally was not counted: %s", error)


def read() -> Counts | None:
    """Return all totals by counter and label; None if Redis does not answer."""
    try:
        return counts(client().hgetall(KEY))
    except (RedisError, OSError) as error:
        logger.warning("The tallies could not be read: %s", error)
        return None


def read_lately(seconds: float) -> dict[datetime, Counts] | None:
    """Return the counts of the last `seconds` by time bucket; None without Redis."""
    now = time.time()
    spans = range(span_of(now - seconds), span_of(now) + 1)
    pipeline = client().pipeline(transaction=False)
    for span in spans:
        pipeline.hgetall(key_of(span))
    try:
        found = pipeline.execute()
    except (RedisError, OSError) as error:
        logger.warning("The tallies could not be read: %s", error)
        return None
    return {
        datetime.fromtimestamp(span * TALLY_SPAN_SECONDS, UTC): counts(rows)
        for span, rows in zip(spans, found, strict=True)
        if rows
    }


def span_of(at: float) -> int:
    return int(at // TALLY_SPAN_SECONDS)


def key_of(span: int) -> str:
    return key("tallies", span)


def counts(rows: Mapping[Any, Any]) -> Counts:
    return {place(str(field)): int(number) for field, number in rows.items()}


def place(field: str) -> tuple[str, str]:
    name, _, label = field.partition(":")
    return name, label
