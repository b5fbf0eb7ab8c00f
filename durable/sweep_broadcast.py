"""Broadcast that something changed which workers otherwise notice at a later sweep."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future

from durable.hub import watch_in_background
from durable.redis import RedisError, client, key

logger = logging.getLogger(__name__)
CHANNEL = key("sweep")


def broadcast() -> None:
    """Ask all workers to sweep in their next round. Failures are only logged: at rest they sweep rarely, not never."""
    try:
        client().publish(CHANNEL, "")
    except RedisError as error:
        logger.warning("Workers were not asked to sweep: %s", error)


def listen(heard: Callable[[], None]) -> Future[None]:
    """Call `heard` at each request, and when one may have been missed, until the returned future is cancelled."""
    return watch_in_background(CHANNEL, lambda payload: heard())
