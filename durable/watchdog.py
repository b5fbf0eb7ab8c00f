"""The consumption watchdog: a worker that no longer receives its own canaries exits and is restarted.

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
from durable.per_process import PerProcess
from durable.publisher import Delivery, publish
from durable.runtime import runtime

logger = logging.getLogger(__name__)
MISSED_CANARIES = 3
EXIT_GRACE_SECONDS = 2.0


class CanaryCount:
    """The canaries this worker has sent since it last received a message."""

    def __init__(self) -> None:
        self.unanswered = 0

    def heard(self) -> None:
        self.unanswered = 0


watch = PerProcess(CanaryCount)


@shared_task(name="durable.canary", send_events=False)  # Flower would list nothing else
def canary() -> None:
    """Do nothing: receiving the message is the proof."""


def start(consumer: Any) -> None:
    threading.Thread(target=_forever, args=(consumer,), name="watchdog", daemon=True).start()


def _forever(consumer: Any) -> None:
    while True:
        time.sleep(limits.WATCHDOG_SECONDS)
        try:
            _look(consumer)
        except Exception:  # a dead watchdog would guard nothing
            logger.exception("The watchdog failed and continues")


def _look(consumer: Any) -> None:
    """Send a canary; exit if several were not received although threads were free."""
    if runtime().draining.is_set():
        return
    if not free_threads(consumer):
        watch().heard()  # it takes no message because all threads are busy
        return
    lifetime = limits.WATCHDOG_SECONDS * MISSED_CANARIES
    if publish("durable.canary", queue=own_queue(consumer.hostname), lifetime=lifetime) is not Delivery.TAKEN:
        watch().heard()  # the broker is down or blocks publishers; the consumer may be fine
        return
    watch().unanswered += 1
    if watch().unanswered > MISSED_CANARIES:
        _give_up()


def own_queue(hostname: str) -> Queue:
    """Return the queue of a worker's canaries, which disappears with the worker or expires."""
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
