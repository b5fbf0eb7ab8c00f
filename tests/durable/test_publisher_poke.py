"""Pokes do not wait for a broker that does not answer."""

from __future__ import annotations

import socket
import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from celery import Celery, current_app

from durable import limits
from durable.publisher import Delivery, poke, send_poke
from tests.boundary.servers import listen
from tests.durable.testjobs.models import Chore

POKES_AT_ONCE = 64


class SilentBroker:
    """It accepts every connection, and that is all."""

    def __init__(self, server: socket.socket) -> None:
        self.port = server.getsockname()[1]
        self.accepted: list[socket.socket] = []
        self._server = server
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                self.accepted.append(self._server.accept()[0])
            except OSError:
                return  # the test is over


@contextmanager
def silent_broker(scheme: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[SilentBroker]:
    monkeypatch.setattr(limits, "POKE_TIMEOUT_SECONDS", 0.2)
    with listen() as server:
        broker = SilentBroker(server)
        url = f"{scheme}://127.0.0.1:{broker.port}//"
        app = Celery(broker=url, set_as_current=False, amqp="copilot_project.broker:Pokes")
        app.conf.broker_transport_options = {"max_retries": 0}
        app.conf.broker_connection_timeout = None
        app.conf.broker_pool_limit = 8
        monkeypatch.setattr("durable.publisher.current_app", app)
        yield broker
        server.shutdown(socket.SHUT_RDWR)


def test_tasks_are_sent_with_the_patience_of_a_poke_and_read_with_more() -> None:
    sending = current_app.amqp.producer_pool.connections.connection
    patience = limits.POKE_TIMEOUT_SECONDS
    assert sending.connect_timeout == patience
    options, reading = (
        sending.transport_options or {},
        current_app.connection_for_read().transport_options or {},
    )
    assert (options["socket_timeout"], options["socket_connect_timeout"]) == (patience, patience)
    assert options["max_retries"] == 0
    assert reading["socket_timeout"] > patience


@pytest.mark.django_db
@pytest.mark.timeout(300)
@pytest.mark.parametrize("scheme", ["redis", "amqp"])
def test_a_broker_that_says_nothing_holds_nobody_up(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a cap the poke would wait for ever. The job is left to the next sweep."""
    chore = Chore.objects.create(status="queued", poked_at=Chore.clock.now())
    with silent_broker(scheme, monkeypatch):
        assert not poke(Chore, chore.pk)
    chore.refresh_from_db()
    assert chore.poked_at is None


@pytest.mark.timeout(300)
@pytest.mark.parametrize("scheme", ["redis", "amqp"])
def test_of_many_pokes_only_the_first_few_find_out_that_the_broker_is_silent(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those in line behind them do not try for themselves, and the next ones do not even stand in line."""
    with silent_broker(scheme, monkeypatch) as broker, ThreadPoolExecutor(POKES_AT_ONCE) as threads:
        together = threading.Barrier(POKES_AT_ONCE)

        def one() -> Delivery:
            together.wait()
            return send_poke(Chore, uuid.uuid4())

        sent = [threads.submit(one) for _ in range(POKES_AT_ONCE)]
        assert {future.result() for future in sent} == {Delivery.LOST}
        first = len(broker.accepted)
        assert first <= 8
        assert send_poke(Chore, uuid.uuid4()) is Delivery.LOST
        assert len(broker.accepted) == first


@pytest.mark.timeout(300)
def test_after_a_pause_one_poke_tries_again_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    with silent_broker("amqp", monkeypatch) as broker:
        monkeypatch.setattr(limits, "BROKER_PAUSE_SECONDS", 0.0)
        assert send_poke(Chore, uuid.uuid4()) is Delivery.LOST
        before = len(broker.accepted)
        monkeypatch.setattr(limits, "BROKER_PAUSE_SECONDS", 3600.0)
        with ThreadPoolExecutor(POKES_AT_ONCE) as threads:
            sent = [threads.submit(send_poke, Chore, uuid.uuid4()) for _ in range(POKES_AT_ONCE)]
            assert {future.result() for future in sent} == {Delivery.LOST}
        assert len(broker.accepted) == before + 1
