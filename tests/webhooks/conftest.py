"""Somebody with an endpoint, and a real receiver behind it; only the worker's shell is left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from accounts.models import User
from durable import jobs
from durable.ids import new_id
from tests.webhooks.receiver import Receiver, receiving
from webhooks import endpoints, sender
from webhooks.deliveries import announce
from webhooks.endpoints import WithSecret
from webhooks.events import EventType
from webhooks.models import WebhookDelivery


@pytest.fixture(autouse=True)
def real_redis(redis_server: object) -> None:
    """Every test here pokes."""


@pytest.fixture
def receiver(settings: Settings) -> Iterator[Receiver]:
    with receiving() as found:
        settings.BOUNDARY_ALLOWED_HOSTS = [found.host]
        yield found


@pytest.fixture
def ada(db: None) -> User:
    return User.objects.create(username="ada")


@pytest.fixture
def bob(db: None) -> User:
    return User.objects.create(username="bob")


@pytest.fixture
def made(ada: User, receiver: Receiver) -> WithSecret:
    """Ada's endpoint, which wants to know everything, with its secret."""
    kinds = ["turn.finished", "operation.finished", "execution.finished"]
    return endpoints.create(ada, url=receiver.url, events=kinds, description="CI")


@pytest.fixture
def announced(made: WithSecret) -> Callable[..., WebhookDelivery]:
    """Something of Ada's has ended; answers the delivery that says so."""

    def announcing(**data: Any) -> WebhookDelivery:
        subject = new_id()
        announce(
            user_id=made.endpoint.user_id,
            event_type=EventType.EXECUTION_FINISHED,
            subject_id=subject,
            describe=lambda: {"execution_id": str(subject), "status": "COMPLETED", **data},
        )
        return WebhookDelivery.objects.get(event_id=f"execution_{subject.hex}")

    return announcing


def work(delivery: WebhookDelivery) -> WebhookDelivery:
    """As a worker that was poked; without its heartbeat, which would look at a database nobody has committed to."""
    lease = jobs.claim(WebhookDelivery, delivery.pk, owner="worker")
    if lease is not None:
        sender.run(lease)
    delivery.refresh_from_db()
    return delivery


def work_when_due(delivery: WebhookDelivery) -> WebhookDelivery:
    """The clock goes on to when it is due, and a worker is poked."""
    assert delivery.status == delivery.WAITING
    WebhookDelivery.objects.filter(pk=delivery.pk).update(run_at=timezone.now() - timedelta(seconds=1))
    return work(delivery)
