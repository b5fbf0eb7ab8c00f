"""Counts of what leaves no row, kept in Redis for all processes together; they may be lost, like any counter."""

from __future__ import annotations

import logging
from enum import StrEnum

from durable.loop import submit
from durable.redis import RedisError, answer, async_client, client, key

logger = logging.getLogger(__name__)
KEY = key("tallies")


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
    try:
        await answer(async_client().hincrby(KEY, field, 1))
    except (RedisError, OSError) as error:
        logger.debug("A tally was not counted: %s", error)


def read() -> dict[tuple[str, str], int] | None:
    """Everything counted, by tally and label; None when Redis does not answer."""
    try:
        found = client().hgetall(KEY)
    except (RedisError, OSError) as error:
        logger.warning("The tallies could not be read: %s", error)
        return None
    return {place(str(field)): int(number) for field, number in found.items()}


def place(field: str) -> tuple[str, str]:
    name, _, label = field.partition(":")
    return name, label
