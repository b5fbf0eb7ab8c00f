"""A delivery on its way: signed, tried as often as it takes, and never led astray."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from http.server import BaseHTTPRequestHandler

import pytest
from cryptography.fernet import Fernet
from django.utils import timezone
from pytest_django import Settings

from accounts.models import User
from durable import jobs
from durable.errors import LeaseLost
from durable.ids import new_id
from durable.lifecycle import lifecycle_of
from tests.boundary.servers import Received, serve
from tests.webhooks.conftest import work, work_when_due
from tests.webhooks.receiver import NotGenuine, Receiver, verify
from webhooks import deliveries, endpoints, limits, sender
from webhooks.endpoints import WithSecret
from webhooks.models import WebhookDelivery, WebhookEndpoint
from webhooks.sender import pause_before

Announced = Callable[..., WebhookDelivery]
pytestmark = pytest.mark.django_db


# --- what arrives -----------------------------------------------------------------------------------


def test_a_receiver_that_knows_only_the_specification_can_verify_it(
    announced: Announced, made: WithSecret, receiver: Receiver
) -> None:
    delivery = work(announced(note="größer 😀"))
    [message] = receiver.messages
    body = verify(made.secret, message)
    assert (message.method, message.path) == ("POST", "/hooks?place=1")
    assert message.headers["content-type"] == "application/json"
    assert (body["type"], body["data"]["note"]) == ("execution.finished", "größer 😀")
    assert message.headers["webhook-id"] == delivery.event_id
    assert (delivery.status, delivery.end_reason, delivery.tries) == ("completed", "delivered", 1)
    assert (delivery.response_status, delivery.response_excerpt) == (200, "ok")


def test_another_secret_does_not_fit(announced: Announced, receiver: Receiver) -> None:
    work(announced())
    with pytest.raises(NotGenuine):
        verify(endpoints.new_secret(), receiver.messages[0])


def test_after_a_new_secret_both_sign_for_a_day_and_then_only_the_new_one(
    announced: Announced, made: WithSecret, receiver: Receiver
) -> None:
    fresh = endpoints.rotate(made.endpoint)
    work(announced())
    for secret in (made.secret, fresh.secret):
        verify(secret, receiver.messages[0])
    WebhookEndpoint.objects.update(old_secret_until=timezone.now() - timedelta(seconds=1))
    work(announced())
    verify(fresh.secret, receiver.messages[1])
    with pytest.raises(NotGenuine):
        verify(made.secret, receiver.messages[1])


def test_without_the_key_its_secret_was_sealed_with_nothing_is_sent_unsigned(
    announced: Announced, receiver: Receiver, settings: Settings
) -> None:
    settings.ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    delivery = work(announced())
    assert (delivery.status, delivery.end_reason, receiver.messages) == ("failed", "no_secret", [])
    assert "ENCRYPTION_KEYS" in delivery.error


# --- tries ------------------------------------------------------------------------------------------


def test_two_failures_and_a_success_are_three_messages_with_one_id(
    announced: Announced, made: WithSecret, receiver: Receiver
) -> None:
    receiver.statuses = [500, 503]
    delivery = work(announced())
    assert (delivery.status, delivery.tries, delivery.response_status) == ("waiting", 1, 500)
    assert delivery.error == "The receiver answered 500."
    assert delivery.run_at is not None and delivery.run_at > timezone.now() + timedelta(seconds=2)
    delivery = work_when_due(work_when_due(delivery))
    assert (delivery.status, delivery.tries, delivery.error) == ("completed", 3, "")
    assert receiver.ids == [delivery.event_id] * 3
    for message in receiver.messages:
        verify(made.secret, message)


def test_a_delivery_that_is_not_due_is_left_alone(announced: Announced, receiver: Receiver) -> None:
    receiver.statuses = [500]
    work(work(announced()))
    assert len(receiver.messages) == 1


def test_a_receiver_may_ask_for_more_patience(announced: Announced, receiver: Receiver) -> None:
    receiver.statuses, receiver.headers = [429, 503], (("Retry-After", "600"),)
    delivery = work(announced())
    assert delivery.run_at is not None
    assert delivery.run_at > timezone.now() + timedelta(seconds=500)
    receiver.headers = (("Retry-After", "soon"),)
    assert work_when_due(delivery).status == "waiting"


def test_after_about_a_day_it_has_failed(announced: Announced, receiver: Receiver) -> None:
    receiver.statuses = [500] * limits.WEBHOOK_TRIES
    delivery = work(announced())
    for _ in range(limits.WEBHOOK_TRIES - 1):
        delivery = work_when_due(delivery)
    assert (delivery.status, delivery.end_reason, delivery.tries) == ("failed", "gave_up", 10)
    assert work(delivery).tries == 10


def test_the_pauses_grow_up_to_eight_hours_and_make_about_a_day() -> None:
    pauses = [pause_before(tries) for tries in range(1, limits.WEBHOOK_TRIES)]
    assert pause_before(limits.WEBHOOK_TRIES) is None
    seconds = [pause or 0.0 for pause in pauses]
    assert 4 <= seconds[0] <= 6 and 5 * 3600 <= seconds[-1] <= 10 * 3600
    assert 18 * 3600 <= sum(seconds) <= 30 * 3600
    assert len({pause_before(3) for _ in range(5)}) > 1, "without jitter all come back at once"
    assert pause_before(1, asked_for=10.0**9) == limits.WEBHOOK_LONGEST_PAUSE_SECONDS


def test_a_receiver_that_is_not_there_is_tried_again(announced: Announced, settings: Settings) -> None:
    delivery = announced()
    settings.BOUNDARY_ALLOWED_HOSTS = ["127.0.0.1:9"]
    WebhookEndpoint.objects.update(url="http://127.0.0.1:9/")
    delivery = work(delivery)
    assert (delivery.status, delivery.response_status) == ("waiting", None)
    assert "failed" in delivery.error


def test_one_that_is_cancelled_or_loses_its_worker_again_and_again_ends_visibly(announced: Announced) -> None:
    delivery = announced()
    jobs.request_cancel(WebhookDelivery, delivery.pk)
    delivery.refresh_from_db()
    assert delivery.status == "cancelled"
    delivery = announced()
    WebhookDelivery.objects.filter(pk=delivery.pk).update(
        status="running", owner="dead", crashes=4, lease_until=timezone.now() - timedelta(seconds=5)
    )
    jobs.give_up(WebhookDelivery)
    delivery.refresh_from_db()
    assert (delivery.status, delivery.end_reason) == ("failed", "worker_lost")
    assert "worker died" in delivery.error


# --- what it says about the endpoint ------------------------------------------------------------------


def test_410_switches_the_endpoint_off_and_what_was_waiting_is_not_sent(
    announced: Announced, made: WithSecret, receiver: Receiver
) -> None:
    waiting = announced()
    receiver.statuses = [410]
    delivery = work(announced())
    made.endpoint.refresh_from_db()
    assert (delivery.status, delivery.end_reason) == ("failed", "gone")
    assert not made.endpoint.enabled and "410" in made.endpoint.disabled_reason
    assert (work(waiting).status, waiting.end_reason) == ("cancelled", "endpoint_disabled")
    assert len(receiver.messages) == 1


def test_one_that_failed_for_days_is_switched_off_with_a_reason(
    announced: Announced, made: WithSecret, receiver: Receiver
) -> None:
    receiver.statuses = [500, 500]
    delivery = work(announced())
    made.endpoint.refresh_from_db()
    assert made.endpoint.enabled and made.endpoint.failing_since is not None
    days_ago = timezone.now() - timedelta(seconds=limits.WEBHOOK_DISABLE_SECONDS)
    WebhookEndpoint.objects.update(failing_since=days_ago)
    work_when_due(delivery)
    made.endpoint.refresh_from_db()
    assert (made.endpoint.enabled, made.endpoint.disabled_reason) == (
        False,
        "Every attempt has failed for 5 days.",
    )


def test_a_success_forgets_the_failures_before_it(
    announced: Announced, made: WithSecret, receiver: Receiver
) -> None:
    receiver.statuses = [500]
    work_when_due(work(announced()))
    made.endpoint.refresh_from_db()
    assert made.endpoint.failing_since is None


def test_a_test_is_tried_once_and_does_not_count(made: WithSecret, receiver: Receiver) -> None:
    receiver.statuses = [500]
    delivery = work(deliveries.send_test(made.endpoint))
    made.endpoint.refresh_from_db()
    assert (delivery.status, delivery.end_reason, made.endpoint.failing_since) == ("failed", "gave_up", None)


def test_a_deactivated_person_is_told_nothing_more(
    announced: Announced, ada: User, receiver: Receiver
) -> None:
    delivery = announced()
    User.objects.filter(pk=ada.pk).update(is_active=False)
    assert (work(delivery).status, receiver.messages) == ("cancelled", [])


def test_a_slow_receiver_takes_no_more_than_its_owners_share(
    announced: Announced, bob: User, receiver: Receiver
) -> None:
    """SECURITY: one person's tarpit must not hold up everybody's deliveries."""
    mine = [announced() for _ in range(limits.WEBHOOKS_AT_ONCE_PER_USER + 1)]
    bobs = deliveries.send_test(endpoints.create(bob, url=receiver.url, events=["turn.finished"]).endpoint)
    for delivery in mine:
        jobs.claim(WebhookDelivery, delivery.pk, owner="slow")
    statuses = [WebhookDelivery.objects.get(pk=delivery.pk).status for delivery in mine]
    assert statuses == ["running"] * limits.WEBHOOKS_AT_ONCE_PER_USER + ["queued"]
    assert work(bobs).status == "completed"
    queued = WebhookDelivery.objects.filter(status="queued")
    assert not lifecycle_of(WebhookDelivery).startable(queued).exists()
    WebhookDelivery.objects.filter(pk=mine[0].pk).update(status="completed")
    assert list(lifecycle_of(WebhookDelivery).startable(queued)) == [mine[-1]]


# --- where it may lead --------------------------------------------------------------------------------


def test_a_redirect_is_not_followed(announced: Announced, receiver: Receiver) -> None:
    """SECURITY, outgoing: no redirects."""
    receiver.statuses, receiver.headers = [302], (("Location", "/elsewhere"),)
    delivery = work(announced())
    assert [message.path for message in receiver.messages] == ["/hooks?place=1"]
    assert (delivery.status, delivery.response_status) == ("waiting", 302)
    assert "Redirects are not followed" in delivery.error


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/",
        "https://169.254.169.254/latest/meta-data/",
        "https://[::1]/",
        "https://10.0.0.1/",
        "https://localhost/",
        "https://hooks.internal/",
        "https://example.com:6379/",
    ],
)
def test_an_address_inside_is_refused_before_a_packet_and_not_tried_again(
    announced: Announced, receiver: Receiver, settings: Settings, url: str
) -> None:
    delivery = announced()
    WebhookEndpoint.objects.update(url=url)  # as if a name had begun to lead there after it was checked
    delivery = work(delivery)
    assert (delivery.status, delivery.end_reason, delivery.response_status) == ("failed", "blocked_url", None)
    assert receiver.messages == []


def test_the_receiver_itself_is_refused_once_the_operator_no_longer_names_it(
    announced: Announced, receiver: Receiver, settings: Settings
) -> None:
    delivery = announced()
    settings.BOUNDARY_ALLOWED_HOSTS = []
    assert (work(delivery).end_reason, receiver.messages) == ("blocked_url", [])


# --- what is kept of the answer -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        b'{"token": "canary-4711", "deep": [{"api_key": "canary-4711"}]}',
        b"Authorization: Bearer canary-4711",
        b"password=canary-4711",
        b"<pre>secret: canary-4711</pre>",
        b"x" * 200 + b"canary-4711" * 40,
    ],
)
def test_no_secret_of_an_answer_is_kept(announced: Announced, receiver: Receiver, body: bytes) -> None:
    receiver.statuses, receiver.body = [500], body
    delivery = work(announced())
    assert "canary" not in delivery.response_excerpt
    assert delivery.response_excerpt
    assert len(delivery.response_excerpt) <= limits.WEBHOOK_EXCERPT_CHARACTERS


def test_an_endless_answer_is_cut_and_counts_as_delivered(
    announced: Announced, settings: Settings, made: WithSecret
) -> None:
    sent: list[int] = []

    def answer(handler: BaseHTTPRequestHandler, received: Received) -> None:
        handler.send_response(200)
        handler.send_header("content-type", "text/plain")
        handler.end_headers()
        while True:  # until the other side hangs up
            handler.wfile.write(b"more words \x00\xff" * 1_000)
            sent.append(1)

    with serve(answer) as server:
        settings.BOUNDARY_ALLOWED_HOSTS = [server.host]
        WebhookEndpoint.objects.update(url=server.url())
        delivery = work(announced())
    assert (delivery.status, delivery.response_excerpt[:11]) == ("completed", "more words ")
    assert len(delivery.response_excerpt) == limits.WEBHOOK_EXCERPT_CHARACTERS


def test_an_answer_that_is_no_http_is_a_failure_like_any_other(
    announced: Announced, settings: Settings
) -> None:
    def answer(handler: BaseHTTPRequestHandler, received: Received) -> None:
        handler.wfile.write(b"220 mail.example.com ESMTP\r\n")

    with serve(answer) as server:
        settings.BOUNDARY_ALLOWED_HOSTS = [server.host]
        WebhookEndpoint.objects.update(url=server.url())
        delivery = work(announced())
    assert delivery.status in ("waiting", "failed") and delivery.error


def test_one_of_a_deleted_endpoint_is_gone_with_it(announced: Announced, made: WithSecret) -> None:
    delivery = announced()
    lease = jobs.claim(WebhookDelivery, delivery.pk, owner="w")
    assert lease is not None
    made.endpoint.delete()
    with pytest.raises(LeaseLost):
        sender.run(lease)
    assert not WebhookDelivery.objects.exists()
    assert jobs.claim(WebhookDelivery, new_id(), owner="w") is None
