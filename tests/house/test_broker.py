"""Pokes do not wait for a broker that does not answer."""

from __future__ import annotations

import uuid

import pytest
from celery import Celery, current_app

from durable import limits
from durable.poke import poke
from tests.boundary.servers import listen
from tests.durable.testjobs.models import Chore


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


@pytest.mark.timeout(60)
@pytest.mark.parametrize("scheme", ["redis", "amqp"])
def test_a_broker_that_says_nothing_holds_nobody_up(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It accepts the connection, and that is all; without a cap the poke would wait for ever."""
    monkeypatch.setattr(limits, "POKE_TIMEOUT_SECONDS", 0.1)
    with listen() as silent:
        url = f"{scheme}://127.0.0.1:{silent.getsockname()[1]}//"
        app = Celery(broker=url, set_as_current=False, amqp="copilot_project.broker:Pokes")
        app.conf.broker_transport_options = {"max_retries": 0}
        app.conf.broker_connection_timeout = None
        monkeypatch.setattr("durable.poke.current_app", app)
        assert not poke(Chore, uuid.uuid4())
