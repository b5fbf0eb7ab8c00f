"""Celery messages that are sent without waiting long; first of all pokes, which name a job to claim."""

from __future__ import annotations

import enum
import logging
import threading
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from celery import current_app
from django.db import DatabaseError, InterfaceError
from kombu import Producer, Queue
from kombu.exceptions import OperationalError as BrokerDown

from durable import limits
from durable.database import give_way
from durable.models import Job
from durable.per_process import PerProcess

logger = logging.getLogger(__name__)


class Delivery(enum.Enum):
    """The outcome of a send."""

    TAKEN = "taken"  # the broker has it
    ENOUGH = "enough"  # not sent: enough messages wait in the queue
    LOST = "lost"  # the broker is down, silent or refuses messages


def publish(
    task_name: str,
    *,
    queue: str | Queue,
    args: Sequence[str] = (),
    lifetime: float,
    at_most: int | None = None,
) -> Delivery:
    """Send a best-effort message within `limits.POKE_TIMEOUT_SECONDS`.

    The broker drops it after `lifetime` seconds if it can; it is not sent while `at_most` messages wait in its queue.
    RabbitMQ confirms messages: otherwise one sent during a memory or disk alarm, or to a frozen server, would seem to
    have arrived. A failure is not an error: it is logged and returned as `LOST`.
    """
    give_way()
    sender = senders()
    if not sender.breaker.enter(seconds=limits.POKE_TIMEOUT_SECONDS):
        return Delivery.LOST
    sent = Delivery.LOST
    try:
        sent = sender.send(task_name, queue, args, lifetime, at_most)
    except (BrokerDown, OSError) as error:
        logger.warning("The broker did not take a message for %s: %s", task_name, error)
    except Exception:  # whatever a transport raises, a hint must not fail its caller
        logger.exception("A message for %s failed in an unknown way", task_name)
    finally:
        sender.breaker.leave(succeeded=sent is not Delivery.LOST)
    return sent


@dataclass(kw_only=True)
class Depth:
    """The length of a queue: the broker's last answer plus the messages sent since."""

    waiting: int
    asked_at: float
    sent: int = 0

    def is_known(self, at_most: int) -> bool:
        """Return whether it is recent. Other processes send too, so each uses only a share of the room."""
        age = time.monotonic() - self.asked_at
        return age < limits.BROKER_DEPTH_SECONDS and self.sent < max((at_most - self.waiting) // 4, 1)


class Sender:
    """One process's view of the broker: whether it answers, and how full its queues are."""

    def __init__(self) -> None:
        self.breaker = CircuitBreaker(current_app.conf.broker_pool_limit or 1)
        self._depths: dict[str, Depth] = {}
        self._lock = threading.Lock()

    def send(
        self, task_name: str, queue: str | Queue, args: Sequence[str], lifetime: float, at_most: int | None
    ) -> Delivery:
        pool = current_app.amqp.producer_pool
        with pool.acquire(block=True, timeout=limits.POKE_TIMEOUT_SECONDS) as producer:
            try:
                if at_most is not None and not self._has_room(
                    producer, str(getattr(queue, "name", queue)), at_most
                ):
                    return Delivery.ENOUGH
                current_app.send_task(
                    task_name,
                    args=list(args),
                    queue=queue,  # type: ignore[arg-type]  # accepts a Queue as well as a name
                    producer=producer,
                    retry=False,
                    ignore_result=True,
                    delivery_mode="transient",
                    expiration=lifetime,
                    confirm_timeout=limits.POKE_TIMEOUT_SECONDS,
                )
            except BaseException:
                forget(producer)  # a late answer would be taken for the next message's
                raise
        return Delivery.TAKEN

    def _has_room(self, producer: Producer, queue: str, at_most: int) -> bool:
        with self._lock:
            depth = self._depths.get(queue)
            if depth is None or not depth.is_known(at_most):
                depth = None
        if depth is None:
            depth = Depth(waiting=messages_in(producer, queue), asked_at=time.monotonic())
        with self._lock:
            self._depths[queue] = depth
            if depth.waiting + depth.sent >= at_most:
                return False
            depth.sent += 1
            return True


def forget(producer: Producer) -> None:
    """Drop the connection without contacting the broker."""
    if producer.connection is not None:
        producer.connection.collect()


def messages_in(producer: Producer, queue: str) -> int:
    """Return the number of messages in a queue; declaring an existing queue tells without changing it."""
    bound: Any = current_app.amqp.queues[queue](producer.channel)  # type: ignore[arg-type]
    return int(bound.queue_declare().message_count)


senders = PerProcess(Sender)


class CircuitBreaker:
    """Allow a few concurrent calls while they succeed. After a failure, callers in line give up at once."""

    def __init__(self, calls_at_once: int) -> None:
        self._calls_at_once = calls_at_once
        self._in_flight = 0
        self._retry_at: float | None = None  # None while closed
        self._changed = threading.Condition()

    def enter(self, *, seconds: float) -> bool:
        """Wait for a free slot and return whether the caller may proceed; it must report back with `leave`."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_open or self._has_place, timeout=seconds)
            if self._is_open:
                return self._probe()
            if not self._has_place:
                return False
            self._in_flight += 1
            return True

    def leave(self, *, succeeded: bool) -> None:
        with self._changed:
            self._in_flight -= 1
            self._retry_at = None if succeeded else time.monotonic() + limits.BROKER_PAUSE_SECONDS
            self._changed.notify_all()

    @property
    def is_open(self) -> bool:
        """Return whether calls are refused, or allowed only as a probe."""
        with self._changed:
            return self._is_open

    def _probe(self) -> bool:
        """Let one call through when the pause is over; others are refused until it returns."""
        now = time.monotonic()
        if self._retry_at is None or now < self._retry_at:
            return False
        self._retry_at = now + limits.BROKER_PAUSE_SECONDS
        self._in_flight += 1
        return True

    @property
    def _is_open(self) -> bool:
        return self._retry_at is not None

    @property
    def _has_place(self) -> bool:
        return self._in_flight < self._calls_at_once


def poke(model: type[Job], job_id: uuid.UUID) -> bool:
    """Send a poke without waiting long; return False if it was not sent; a sweep sends it again."""
    if send_poke(model, job_id) is Delivery.TAKEN:
        return True
    leave_to_sweep(model, job_id)
    return False


def send_poke(model: type[Job], job_id: uuid.UUID) -> Delivery:
    """Send a poke, unless enough of them wait in the queue already."""
    return publish(
        model.task_name,
        queue=model.queue,
        args=[str(job_id)],
        lifetime=limits.POKE_LIFETIME_SECONDS,
        at_most=limits.MAX_WAITING_POKES,
    )


def leave_to_sweep(model: type[Job], job_id: uuid.UUID) -> None:
    """Clear the recorded poke, so that the next sweep does not wait for its effect."""
    try:
        model._default_manager.filter(pk=job_id, poked_at__isnull=False).update(poked_at=None)
    except (DatabaseError, InterfaceError) as error:
        logger.warning("A job that was not poked waits a little longer for a sweep: %s", error)
