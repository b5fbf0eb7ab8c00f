"""The models that a server says it has, for endpoints that name theirs by a pattern (`gpt-6*`).

Workers ask the servers after a sweep, never while anybody waits, and keep the lists in Redis for all processes. They
may be lost: a model that fits a pattern can still be named, and is listed again once its server has answered.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Collection

from durable.per_process import submit
from durable.redis import RedisError, answer, async_client, client, key
from llm import limits
from llm.catalog import is_for_chat
from llm.endpoint import Endpoint, origin_of
from llm.errors import LLMError
from llm.retry import Policy

logger = logging.getLogger(__name__)


class _ListMemory:
    """What this process knows, and when it last looked."""

    lists: dict[str, tuple[str, ...]] = {}
    read_at = 0.0
    asked_at = 0.0


def listed_models(endpoint: Endpoint) -> tuple[str, ...]:
    """Return the models of a server that fit a pattern of its endpoint, as last read."""
    found = _ListMemory.lists.get(_place(endpoint), ()) if endpoint.has_patterns else ()
    return tuple(
        name
        for name in found
        if endpoint.serves(name) and len(endpoint.full_name(name)) <= limits.MODEL_NAME_CHARACTERS
    )


def read_if_old(endpoints: Collection[Endpoint]) -> None:
    """Read the lists of these endpoints from Redis unless that was just done: for views."""
    places = [_place(endpoint) for endpoint in endpoints if endpoint.has_patterns]
    now = time.monotonic()
    if not places or (_ListMemory.read_at and now - _ListMemory.read_at < limits.ENDPOINTS_FRESH_SECONDS):
        return
    try:
        found = client().mget([_list_key(place) for place in places])
    except (RedisError, OSError) as error:
        logger.warning("The lists of models could not be read: %s", error)
        return
    _ListMemory.lists = {place: _names(text) for place, text in zip(places, found, strict=True) if text}
    _ListMemory.read_at = now


def ask_if_due(endpoints: Collection[Endpoint]) -> None:
    """Ask the servers whose list is old, one worker each and in the background: for workers after a sweep."""
    now = time.monotonic()
    if _ListMemory.asked_at and now - _ListMemory.asked_at < limits.MODEL_LIST_LOOK_SECONDS:
        return
    _ListMemory.asked_at = now
    for endpoint in endpoints:
        if endpoint.has_patterns:
            submit(_ask(endpoint))


def forget() -> None:
    """Forget what this process knows."""
    _ListMemory.lists, _ListMemory.read_at, _ListMemory.asked_at = {}, 0.0, 0.0


async def _ask(endpoint: Endpoint) -> None:
    """Ask a server and keep what it says, unless another worker does so; a failure is tried again sooner."""
    from llm.model_call import list_models  # lazy: importing `openai` takes about a second

    place = _place(endpoint)
    redis = async_client()
    try:
        mine = await answer(redis.set(_turn_key(place), 1, nx=True, ex=int(limits.MODEL_LIST_FRESH_SECONDS)))
        if not mine:
            return
        try:
            async with asyncio.timeout(limits.MODEL_LIST_SECONDS):
                names = await list_models(endpoint, Policy())
        except (LLMError, TimeoutError) as error:
            logger.info("An endpoint did not list its models", extra={"detail": str(error)})
            await answer(redis.expire(_turn_key(place), int(limits.MODEL_LIST_AGAIN_SECONDS)))
            return
        text = json.dumps([name for name in names if endpoint.serves(name)][: limits.MODEL_LIST_MOST])
        await answer(redis.set(_list_key(place), text, ex=int(limits.MODEL_LIST_KEEP_SECONDS)))
    except (RedisError, OSError) as error:
        logger.debug("A list of models was not kept: %s", error)


def _names(text: str | bytes) -> tuple[str, ...]:
    return tuple(str(name) for name in json.loads(text) if name and is_for_chat(str(name)))


def _place(endpoint: Endpoint) -> str:
    return origin_of(endpoint, f"{endpoint.name} {' '.join(endpoint.models)}")


def _list_key(place: str) -> str:
    return key("models", place)


def _turn_key(place: str) -> str:
    return key("models-asked", place)
