"""Counts of what leaves no row, kept in Redis for all processes together; they may be lost, like any counter."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from durable.limits import TALLY_FORGET_SECONDS, TALLY_KEEP_SECONDS, TALLY_SPAN_SECONDS
from durable.loop import submit
from durable.redis import RedisError, answer, async_client, client, key

logger = logging.getLogger(__name__)
KEY = key("tallies")
Counts = dict[tuple[str, str], int]  # by tally and label


class Tally(StrEnum):
    """What is counted."""

    FENCED_WRITES = "fenced_writes"
    RESYNCS = "resyncs"
    DROPPED_CLIENTS = "dropped_clients"
    MODEL_ERRORS = "model_errors"


def count(tally: Tally, label: str = "") -> None:
    """One more. Never waits and never fails: it is sent from the background loop."""
    submit(_add(f"{tally}:{label}"))


async def _add(field: str) -> None:
    """Into the count of all time, forgotten when nothing comes for long, and into that of these minutes."""
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
    """Everything counted, by tally and label; None when Redis does not answer."""
    try:
        return counts(client().hgetall(KEY))
    except (RedisError, OSError) as error:
        logger.warning("The tallies could not be read: %s", error)
        return None


def read_lately(seconds: float) -> dict[datetime, Counts] | None:
    """What was counted in the last `seconds`, by the beginning of each span of minutes; None without Redis."""
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
