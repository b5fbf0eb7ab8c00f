"""How pokes are sent to the broker: with short timeouts, since the sweep makes up for lost ones."""

from __future__ import annotations

from celery.app.amqp import AMQP
from kombu import pools

from durable import limits


class Pokes(AMQP):
    """Sends tasks over connections with short timeouts; connections that read tasks keep the usual ones."""

    _producer_pool: pools.ProducerPool | None = None

    @property
    def producer_pool(self) -> pools.ProducerPool:
        if self._producer_pool is None:
            seconds = limits.POKE_TIMEOUT_SECONDS
            redis = {"socket_timeout": seconds, "socket_connect_timeout": seconds}
            rabbitmq = {"read_timeout": seconds, "write_timeout": seconds, "confirm_publish": True}
            connection = self.app.connection_for_write(
                connect_timeout=seconds, transport_options=redis | rabbitmq
            )
            self._producer_pool = pools.producers[connection]
            self._producer_pool.limit = self.app.pool.limit
        return self._producer_pool
