"""The consumption watchdog: a worker that no longer gets its own pokes ends itself, and is started again.

Measured: after a lost broker connection a Celery worker may stay alive and consume nothing.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from typing import Any

from celery import shared_task
from kombu import Queue

from durable import limits
from durable.backpressure import free_threads, own_queue_name
from durable.process import PerProcess
from durable.publisher import Delivery, publish
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
    if not free_threads(consumer):
        watch().heard()  # it takes no message because all threads are busy, not because it is deaf
        return
    lifetime = limits.WATCHDOG_SECONDS * MISSED_CANARIES
    if publish("durable.canary", queue=own_queue(consumer.hostname), lifetime=lifetime) is not Delivery.TAKEN:
        watch().heard()  # the broker is away or blocks publishers; that is no fault of this worker's consumer
        return
    watch().unanswered += 1
    if watch().unanswered > MISSED_CANARIES:
        _give_up()


def own_queue(hostname: str) -> Queue:
    """The queue of one worker's canaries. It goes with the worker, and on Redis when it was not used for a while."""
    return Queue(own_queue_name(hostname), auto_delete=True, expires=limits.CANARY_QUEUE_SECONDS)


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
