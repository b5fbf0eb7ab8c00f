"""Which servers answer, and whether beat and the completions consumer are alive."""

from __future__ import annotations

from dataclasses import dataclass

from durable import liveness
from durable.redis import RedisError, client
from tools.operations import completion_stream


@dataclass(frozen=True, kw_only=True)
class Servers:
    """True for what works, and for what cannot be asked while Redis is away."""

    redis: bool
    broker: bool
    beat: bool
    completions: bool


def check_servers(*, redis: bool, broker: bool) -> Servers:
    """Check beat and completions; `redis` and `broker` say whether those have just answered."""
    unknown = Servers(redis=False, broker=broker, beat=True, completions=True)
    if not redis:
        return unknown
    try:
        return Servers(
            redis=True, broker=broker, beat=bool(liveness.living("beat")), completions=completions_are_read()
        )
    except (RedisError, OSError):
        return unknown


def completions_are_read() -> bool:
    """Return whether a consumer is alive, or none is needed because the stream has never been used."""
    return bool(liveness.living(completion_stream.GROUP)) or not client().exists(completion_stream.STREAM)
