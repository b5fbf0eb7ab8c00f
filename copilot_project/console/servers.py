"""Which servers answer, and whether the processes that are needed once give a sign of life."""

from __future__ import annotations

from dataclasses import dataclass

from durable import alive
from durable.redis import RedisError, client
from tools import completions


@dataclass(frozen=True, kw_only=True)
class Servers:
    """True for what works, and for what nobody can ask about while Redis is away."""

    redis: bool
    broker: bool
    beat: bool
    completions: bool


def look_at_servers(*, redis: bool, broker: bool) -> Servers:
    """`redis` and `broker`: whether they answered just now, so that a dead one is not waited for twice."""
    unknown = Servers(redis=False, broker=broker, beat=True, completions=True)
    if not redis:
        return unknown
    try:
        return Servers(
            redis=True, broker=broker, beat=bool(alive.living("beat")), completions=completions_are_read()
        )
    except (RedisError, OSError):
        return unknown


def completions_are_read() -> bool:
    """The stream is there once an outside service has written to it, or a consumer has run."""
    return bool(alive.living(completions.GROUP)) or not client().exists(completions.STREAM)
