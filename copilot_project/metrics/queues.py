"""How many messages wait in the broker's queues, on Redis and on RabbitMQ alike."""

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
    """Messages that no worker has taken yet, by queue; None when the broker does not answer.

    A message is a poke: a long queue says that workers are busy or away, an empty one says nothing about how many
    jobs wait, for which there is the database.
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
            logger.warning("The broker does not say how long its queues are: %s", error)
            return None


def names() -> list[str]:
    """The queues of the product's jobs."""
    return sorted({model.queue for model in job_models() if not model.__module__.startswith("tests.")})


def length_in_redis(connection: Any, name: str) -> int:
    return int(connection.default_channel.client.llen(name))


def length_in_rabbit(connection: Any, name: str) -> int:
    """Asked on a channel of its own: RabbitMQ closes it when the queue has never been declared."""
    with connection.channel() as channel:
        try:
            return int(channel.queue_declare(queue=name, passive=True).message_count)
        except connection.channel_errors:
            return 0
