"""Celery worker signals: start the durable runtime, and hand jobs over at shutdown."""

from __future__ import annotations

import logging
import threading
from typing import Any

from celery import signals
from kombu import Exchange

from durable import tracing, watchdog
from durable.backpressure import free_threads, own_queue_name
from durable.database import check_concurrency, pool_size
from durable.runtime import runtime

logger = logging.getLogger(__name__)


@signals.celeryd_after_setup.connect
def set_up(sender: str, instance: Any, **kwargs: Any) -> None:
    """Let the worker consume its own queue too; Celery's `worker_direct` would leave that queue behind."""
    queue = instance.app.amqp.queues.select_add(watchdog.own_queue(sender))
    queue.exchange = Exchange(
        ""
    )  # as it was: bound to an exchange it would leave the binding behind on Redis


@signals.worker_ready.connect
def started(sender: Any, **kwargs: Any) -> None:
    if problem := check_concurrency(sender.controller.concurrency, pool_size()):
        logger.warning("%s", problem)
    own = own_queue_name(sender.hostname)
    queues = [name for name in sender.app.amqp.queues.consume_from if name != own]
    runtime().on_drain = lambda drain: consume(sender, queues, drain=drain)
    runtime().free_threads = lambda: free_threads(sender)
    runtime().start(queues)
    watchdog.start(sender)


def consume(sender: Any, queues: list[str], *, drain: bool) -> None:
    """Stop or resume consuming through Celery's remote control, which acts on the consumer's thread."""
    control = sender.app.control
    for queue in queues:
        change = control.cancel_consumer if drain else control.add_consumer
        change(queue, destination=[sender.hostname], reply=False)


@signals.worker_process_init.connect
def child_started(**kwargs: Any) -> None:
    """Start heartbeat and cancel listener in a pool's child, which holds the jobs; its parent sweeps."""
    runtime().start([])


@signals.task_received.connect
def received(**kwargs: Any) -> None:
    watchdog.watch().heard()


@signals.worker_shutting_down.connect
def shutting_down(**kwargs: Any) -> None:
    """Drain on a thread: a signal handler may have interrupted the holder of a lock."""
    threading.Thread(target=lambda: runtime().drain(), name="drain", daemon=True).start()


@signals.worker_shutdown.connect
def stopped(**kwargs: Any) -> None:
    runtime().sign_off()
    tracing.close()
