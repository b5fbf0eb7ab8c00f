"""The consumption watchdog: a worker that no longer gets its own pokes ends itself, and is started again.

Measured: after a lost broker connection a Celery worker may stay alive and consume nothing.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from typing import Any

from celery import current_app, shared_task
from celery.utils.nodenames import worker_direct
from celery.worker import state
from kombu.exceptions import OperationalError as BrokerDown

from durable import limits
from durable.process import PerProcess
from durable.runtime import runtime

logger = logging.getLogger(__name__)
MISSED_CANARIES = 3
EXIT_GRACE_SECONDS = 2.0


class Watch:
    """How many canaries this worker has sent since it last got any message."""

    def __init__(self) -> None:
        self.unanswered = 0

    def heard(self) -> None:
        self.unanswered = 0


watch = PerProcess(Watch)


@shared_task(name="durable.canary")
def canary() -> None:
    """Nothing to do: that the message was received is the proof."""


def start(consumer: Any) -> None:
    threading.Thread(target=_forever, args=(consumer,), name="watchdog", daemon=True).start()


def _forever(consumer: Any) -> None:
    while True:
        time.sleep(limits.WATCHDOG_SECONDS)
        try:
            _look(consumer)
        except Exception:  # a watchdog that died would watch over nothing
            logger.exception("The watchdog stumbled and goes on")


def _look(consumer: Any) -> None:
    """Send a canary; give up when several were not received although there is room for them."""
    if runtime().draining.is_set():
        return
    if is_full(consumer):
        watch().heard()  # it takes no message because all hands are busy, not because it is deaf
        return
    if watch().unanswered >= MISSED_CANARIES:
        _give_up()
    try:
        current_app.send_task(
            "durable.canary",
            queue=worker_direct(consumer.hostname),  # type: ignore[arg-type]  # a Queue is as good as its name
            retry=False,
            ignore_result=True,
            expires=limits.WATCHDOG_SECONDS * MISSED_CANARIES,
        )
    except (BrokerDown, OSError):
        return  # the broker is away; that is no fault of this worker's consumer
    watch().unanswered += 1


def is_full(consumer: Any) -> bool:
    """Whether as many messages are reserved as this worker may hold, so that it asks for no more."""
    return len(state.reserved_requests) >= max(int(consumer.initial_prefetch_count), 1)


def _give_up() -> None:
    logger.error(
        "This worker gets no messages any more although the broker takes them; it ends to be started again"
    )
    runtime().drain()
    runtime().force_hand_over()
    deadline = time.monotonic() + EXIT_GRACE_SECONDS
    while runtime().held() and time.monotonic() < deadline:
        time.sleep(0.05)
    os._exit(1)
