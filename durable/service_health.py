"""When a service outside last answered and last failed, in Redis for all processes; it may be lost."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from durable.limits import HEALTH_FORGET_SECONDS
from durable.per_process import submit
from durable.redis import RedisError, answer, async_client, client, key

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class ServiceHealth:
    """One service; `failing_since` is None unless its last request failed."""

    answered_at: datetime | None = None
    failing_since: datetime | None = None
    failures: int = 0  # since then
    error: str = ""  # of the last failure, also after an answer
    failed_at: datetime | None = None


def note_answer(kind: str, name: str) -> None:
    """Record that the service answered. Never waits and never fails: the background loop sends it."""
    submit(_answered(key("health", kind, name), time.time()))


def note_failure(kind: str, name: str, error: str) -> None:
    """Record that a request to the service failed. Never waits and never fails."""
    submit(_failed(key("health", kind, name), time.time(), error))


async def _answered(place: str, now: float) -> None:
    pipeline = async_client().pipeline(transaction=True)
    pipeline.hset(place, "answered", now)
    pipeline.hdel(place, "since", "failures")
    pipeline.expire(place, int(HEALTH_FORGET_SECONDS))
    await _send(pipeline)


async def _failed(place: str, now: float, error: str) -> None:
    pipeline = async_client().pipeline(transaction=True)
    pipeline.hsetnx(place, "since", now)
    pipeline.hincrby(place, "failures", 1)
    pipeline.hset(place, mapping={"failed": now, "error": error})
    pipeline.expire(place, int(HEALTH_FORGET_SECONDS))
    await _send(pipeline)


async def _send(pipeline: Any) -> None:
    try:
        await answer(pipeline.execute())
    except (RedisError, OSError) as error:
        logger.debug("The health of a service was not recorded: %s", error)


def read_health(kind: str, names: Collection[str]) -> dict[str, ServiceHealth] | None:
    """Return what is known of each service by its name; None if Redis does not answer."""
    pipeline = client().pipeline(transaction=False)
    for name in names:
        pipeline.hgetall(key("health", kind, name))
    try:
        found = pipeline.execute()
    except (RedisError, OSError) as error:
        logger.warning("The health of services could not be read: %s", error)
        return None
    return {name: _health(fields) for name, fields in zip(names, found, strict=True)}


def _health(fields: Mapping[str, str]) -> ServiceHealth:
    return ServiceHealth(
        answered_at=_time(fields.get("answered")),
        failing_since=_time(fields.get("since")),
        failures=int(fields.get("failures", 0)),
        error=fields.get("error", ""),
        failed_at=_time(fields.get("failed")),
    )


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromtimestamp(float(text), UTC)
