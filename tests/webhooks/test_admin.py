"""Webhooks as operators see them: the log, sending again, switching off; every action is written down."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.test import Client

from accounts.models import User
from tests.webhooks.conftest import work
from tests.webhooks.receiver import Receiver
from webhooks.endpoints import WithSecret
from webhooks.models import WebhookDelivery, WebhookEndpoint

pytestmark = pytest.mark.django_db
DELIVERIES, ENDPOINTS = "/admin/webhooks/webhookdelivery/", "/admin/webhooks/webhookendpoint/"
Announced = Callable[..., WebhookDelivery]


@pytest.fixture
def operator(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


def act(client: Client, page: str, action: str, *rows: Any) -> str:
    chosen = [str(row.pk) for row in rows]
    answer = client.post(page, {"action": action, "_selected_action": chosen}, follow=True)
    assert answer.status_code == 200
    return answer.content.decode()


def written_down() -> list[str]:
    return [entry.get_change_message() for entry in LogEntry.objects.order_by("pk")]


def test_the_log_is_shown_with_secrets_blotted_out(operator: Client, announced: Announced) -> None:
    delivery = work(announced(note="shown", password="hunter2"))
    assert "execution.finished" in operator.get(DELIVERIES).content.decode()
    page = operator.get(f"{DELIVERIES}{delivery.pk}/change/").content.decode()
    assert "shown" in page and "hunter2" not in page and delivery.event_id in page


def test_an_endpoint_is_shown_without_its_secret(operator: Client, made: WithSecret) -> None:
    page = operator.get(f"{ENDPOINTS}{made.endpoint.pk}/change/").content.decode()
    assert made.endpoint.url.replace("&", "&amp;") in page
    assert made.secret not in page and made.endpoint.sealed_secret not in page


def test_replay_of_many_sends_those_that_have_ended_and_says_which_not(
    operator: Client, announced: Announced, receiver: Receiver
) -> None:
    ended, also_ended, queued = work(announced()), work(announced()), announced()
    page = act(operator, DELIVERIES, "replay", ended, also_ended, queued)
    assert "2 replayed" in page and "has not ended yet" in page
    for delivery in (ended, also_ended):
        assert work(delivery).status == "completed"
    assert len(receiver.messages) == 4
    assert written_down() == ["Replayed.", "Replayed."]


def test_replay_of_one_by_the_button_on_its_page(operator: Client, announced: Announced) -> None:
    delivery = work(announced())
    url = f"{DELIVERIES}{delivery.pk}/change/"
    assert b'value="replay"' in operator.get(url).content
    answer = operator.post(url, {"_act": "replay"}, follow=True)
    assert b"1 replayed" in answer.content
    delivery.refresh_from_db()
    assert delivery.status == "queued"
    assert "Replayed." in written_down()


def test_switching_off_and_on_is_written_down(operator: Client, made: WithSecret) -> None:
    act(operator, ENDPOINTS, "switch_off", made.endpoint)
    made.endpoint.refresh_from_db()
    assert (made.endpoint.enabled, made.endpoint.disabled_reason) == (False, "An operator disabled it.")
    act(operator, ENDPOINTS, "switch_on", made.endpoint)
    made.endpoint.refresh_from_db()
    assert (made.endpoint.enabled, made.endpoint.disabled_reason) == (True, "")
    assert written_down() == ["Disabled.", "Enabled."]


def test_who_may_only_look_cannot_replay(announced: Announced) -> None:
    delivery = work(announced())
    clerk = User.objects.create(username="clerk", is_staff=True)
    clerk.user_permissions.add(Permission.objects.get(codename="view_webhookdelivery"))
    client = Client()
    client.force_login(clerk)
    url = f"{DELIVERIES}{delivery.pk}/change/"
    assert b'value="replay"' not in client.get(url).content
    assert client.post(url, {"_act": "replay"}).status_code == 403
    act(client, DELIVERIES, "replay", delivery)
    assert client.get(f"{ENDPOINTS}").status_code == 403
    assert WebhookDelivery.objects.get().status == "completed"
    assert WebhookEndpoint.objects.get().enabled
