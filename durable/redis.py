"""Connections to Redis; the only module that creates them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import redis
import redis.asyncio
from django.conf import settings
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisAway
from redis.exceptions import RedisError, ResponseError
from redis.retry import Retry

from durable import limits
from durable.per_process import PerProcess

__all__ = [
    "PREFIX",
    "RedisAway",
    "RedisError",
    "ResponseError",
    "answer",
    "async_client",
    "async_connection",
    "bytes_client",
    "client",
    "connection",
    "key",
]

PREFIX = "ratchet:"
T = TypeVar("T")


def key(*parts: object) -> str:
    """Return a key with the product's prefix."""
    return PREFIX + ":".join(str(part) for part in parts)


def options() -> dict[str, Any]:
    """Return the client's options, without silent retries (the default is ten): callers decide what a failure means."""
    return {
        "socket_timeout": limits.REDIS_TIMEOUT_SECONDS,
        "socket_connect_timeout": limits.REDIS_TIMEOUT_SECONDS,
        "decode_responses": True,
        "protocol": 2,  # spoken by every server; its answers need no second look
    }


def connect() -> redis.Redis:
    pool = redis.BlockingConnectionPool.from_url(
        settings.REDIS_URL,
        max_connections=limits.REDIS_CONNECTIONS,
        timeout=limits.REDIS_POOL_SECONDS,
        retry=Retry(NoBackoff(), 0),
        **options(),
    )
    return redis.Redis.from_pool(pool)


def connect_for_bytes() -> redis.Redis:
    """Return a client that decodes nothing, for data that need not be text."""
    changed = options() | {"decode_responses": False}
    return redis.Redis.from_url(settings.REDIS_URL, retry=Retry(NoBackoff(), 0), **changed)


client = PerProcess(connect)
bytes_client = PerProcess(connect_for_bytes)
_async_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, redis.asyncio.Redis] = WeakKeyDictionary()


def async_client() -> redis.asyncio.Redis:
    """Return the running loop's client; a thousand readers share its few connections."""
    loop = asyncio.get_running_loop()
    found = _async_clients.get(loop)
    if found is None:
        pool = redis.asyncio.BlockingConnectionPool.from_url(
            settings.REDIS_URL,
            max_connections=limits.REDIS_CONNECTIONS,
            timeout=limits.REDIS_POOL_SECONDS,
            retry=AsyncRetry(NoBackoff(), 0),
            **options(),
        )
        found = _async_clients[loop] = redis.asyncio.Redis.from_pool(pool)
    return found


async def answer(command: Awaitable[T]) -> T:
    """Await a client call so that a cancellation always gets through.

    The client uses Python 3.11's wait_for, which swallows a cancellation that arrives together with the answer.
    """
    return await asyncio.shield(asyncio.ensure_future(command))


def connection() -> Any:
    """Return one unconnected connection, for a thread that must notice when it breaks."""
    pool: Any = redis.ConnectionPool.from_url(settings.REDIS_URL, retry=Retry(NoBackoff(), 0), **options())
    return pool.make_connection()


def async_connection() -> Any:
    """Return one unconnected connection, for a task that must notice when it breaks."""
    pool: Any = redis.asyncio.ConnectionPool.from_url(
        settings.REDIS_URL, retry=AsyncRetry(NoBackoff(), 0), **options()
    )
    return pool.make_connection()
