"""The length of the broker's queues, on Redis and RabbitMQ."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from kombu.exceptions import OperationalError as BrokerDown

from copilot_project.celery import app
from durable import limits
from durable.jobs import job_models

logger = logging.getLogger(__name__)
SECONDS = limits.REDIS_TIMEOUT_SECONDS


def queue_lengths() -> dict[str, int] | None:
    """Return the messages that no worker has received, by queue; None if the broker does not answer.

    A message is only a poke: a long queue means that workers are busy or away, but an empty one does not mean that no
    job waits. The database knows that.
    """
    is_rabbit = app.conf.broker_url.startswith("amqp")
    patience = {"read_timeout": SECONDS, "write_timeout": SECONDS} if is_rabbit else {}
    with app.connection_for_read(connect_timeout=SECONDS, transport_options=patience) as connection:
        length: Callable[[Any, str], int] = length_in_rabbit if is_rabbit else length_in_redis
        away: tuple[type[BaseException], ...] = (BrokerDown, OSError, *connection.connection_errors)
        try:
            connection.ensure_connection(max_retries=1, interval_start=0, interval_step=0)
            return {name: length(connection, name) for name in names()}
        except away as error:
            logger.warning("Cannot read the queue lengths from the broker: %s", error)
            return None


def names() -> list[str]:
    """Return the queues of all job models."""
    return sorted({model.queue for model in job_models() if not model.__module__.startswith("tests.")})


def length_in_redis(connection: Any, name: str) -> int:
    return int(connection.default_channel.client.llen(name))


def length_in_rabbit(connection: Any, name: str) -> int:
    """Ask on a separate channel, which RabbitMQ closes if the queue has never been declared."""
    with connection.channel() as channel:
        try:
            return int(channel.queue_declare(queue=name, passive=True).message_count)
        except connection.channel_errors:
            return 0
