"""Backpressure: a worker takes a message from the broker only while a thread is free for it.

Every message is acknowledged on receipt. One that waited unacknowledged behind busy threads would run into RabbitMQ's
consumer timeout, and while it waited no other worker could take it (docs/decisions/messages-and-free-threads.md).
"""

from __future__ import annotations

import logging
from typing import Any

from celery import bootsteps, signals
from celery.worker import state

from durable import limits
from durable.per_process import PerProcess

logger = logging.getLogger(__name__)


def threads(consumer: Any) -> int:
    """Return how many tasks the worker's pool runs at once."""
    return max(int(consumer.pool.num_processes or 1), 1)


def free_threads(consumer: Any) -> int:
    return max(threads(consumer) - len(state.reserved_requests), 0)


class Backpressure(bootsteps.StartStopStep):
    """Stop consuming job queues when the last thread is busy, and resume when one is free.

    Redis is asked for one message at a time, so there Celery's own `worker_disable_prefetch` does the stopping.
    RabbitMQ sends messages by itself: with a prefetch count of one nothing is on its way when a consumer is cancelled.
    """

    requires = ("celery.worker.consumer.tasks:Tasks",)

    def __init__(self, consumer: Any, **kwargs: Any) -> None:
        self.consumer = consumer
        self.pushed = consumer.app.connection_for_read().transport.driver_type == "amqp"

    def include_if(self, consumer: Any) -> bool:
        """Return whether the worker has an event loop that can be woken, as with thread and process pools."""
        return consumer.hub is not None

    def create(self, consumer: Any) -> None:
        if self.pushed:
            consumer.initial_prefetch_count = 1
        running().append(self)

    def start(self, consumer: Any) -> None:
        consumer.hub.on_tick.add(self.adjust)

    def stop(self, consumer: Any) -> None:
        consumer.hub.on_tick.discard(self.adjust)

    def adjust(self) -> None:
        """Consume while a thread is free. Runs on the consumer's thread at every iteration of its loop."""
        if self._consumes():
            self._resume() if free_threads(self.consumer) else self._pause()

    def received(self, request: Any) -> None:
        """Acknowledge a message; first stop consuming if it takes the last free thread."""
        if self._consumes() and free_threads(self.consumer) <= 1:
            self._pause()
        acknowledge_now(request)

    def task_ended(self) -> None:
        """Check again shortly: Celery frees the thread only after this signal."""
        if not free_threads(self.consumer):
            self.consumer.call_soon(self._look_soon)

    def _look_soon(self) -> None:
        self.consumer.hub.call_later(limits.THREAD_FREED_SECONDS, self.adjust)

    def _consumes(self) -> bool:
        is_up = self.consumer.blueprint.state == bootsteps.RUN and self.consumer.connection  # type: ignore[attr-defined]
        return bool(self.pushed and is_up and self.consumer.task_consumer)

    def _pause(self) -> None:
        tasks = self.consumer.task_consumer
        for name in self._shared_queues():
            if tasks.consuming_from(name):
                tasks.cancel_by_queue(name)

    def _resume(self) -> None:
        tasks = self.consumer.task_consumer
        missing = [queue for name, queue in self._shared_queues().items() if not tasks.consuming_from(name)]
        for queue in missing:
            tasks.add_queue(queue)
        if missing:
            tasks.consume()

    def _shared_queues(self) -> dict[str, Any]:
        """Return the job queues. The worker's own queue is left open: it exists only while it has a consumer."""
        own = own_queue_name(self.consumer.hostname)
        chosen = self.consumer.app.amqp.queues.consume_from
        return {name: queue for name, queue in chosen.items() if name != own}


def acknowledge_now(request: Any) -> None:
    """Acknowledge a message on the consumer's thread, which received it.

    Celery's own `acknowledge` leaves it to the next iteration of the event loop. For a message that arrived outside of
    a poll, such as the first after a start, that iteration may be seconds away.
    """
    if not request.acknowledged:
        request.message.ack_log_error(logger, request.connection_errors)
        request.acknowledged = True


def own_queue_name(hostname: str) -> str:
    """Return the name of the queue that only this worker reads, for its canaries."""
    return f"{hostname}.canary"


def _none_yet() -> list[Backpressure]:
    return []


running = PerProcess(_none_yet)


@signals.task_received.connect
def received(request: Any, **kwargs: Any) -> None:
    for step in running():
        step.received(request)


@signals.task_postrun.connect
def ended(**kwargs: Any) -> None:
    for step in running():
        step.task_ended()
