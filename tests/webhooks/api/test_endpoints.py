"""/api/webhooks: one's own endpoints and their log, and nobody else's."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import User
from durable.redis import client
from tests.webhooks.conftest import work
from tests.webhooks.receiver import Receiver, verify
from webhooks import deliveries, limits
from webhooks.endpoints import WithSecret
from webhooks.models import WebhookDelivery, WebhookEndpoint

pytestmark = pytest.mark.django_db
ALL = ["turn.finished", "operation.finished", "execution.finished"]


@pytest.fixture
def api(ada: User) -> APIClient:
    return client_of(ada)


@pytest.fixture(autouse=True)
def nothing_was_sent_by_hand(real_redis: None) -> None:
    """The counters are in Redis, which knows nothing of rolled back people."""
    client().flushdb()


@pytest.fixture
def bobs_api(bob: User) -> APIClient:
    return client_of(bob)


def client_of(user: User) -> APIClient:
    client = APIClient()
    client.force_authenticate(user)
    return client


def make(api: APIClient, **body: Any) -> Any:
    return api.post("/api/webhooks", {"url": "https://example.com/hook", **body}, format="json")


# --- endpoints ----------------------------------------------------------------------------------------


def test_making_one_shows_its_secret_this_once(api: APIClient) -> None:
    answer = make(api, description="mine", events=["turn.finished", "turn.finished"])
    assert answer.status_code == 201
    assert answer.headers["Cache-Control"] == "no-store"
    made = answer.json()
    assert made["secret"].startswith("whsec_")
    assert (made["enabled"], made["events"], made["description"]) == (True, ["turn.finished"], "mine")
    shown = api.get(f"/api/webhooks/{made['id']}").json()
    [listed] = api.get("/api/webhooks").json()["results"]
    assert shown == listed == {name: value for name, value in made.items() if name != "secret"}
    row = WebhookEndpoint.objects.get()
    assert made["secret"] not in str(vars(row)), "the database holds no secret that can be read"


def test_all_kinds_unless_said_otherwise(api: APIClient) -> None:
    assert make(api).json()["events"] == ALL


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/hook",
        "https://127.0.0.1/",
        "https://[::1]/",
        "https://2130706433/",
        "https://localhost/",
        "https://169.254.169.254/",
        "https://user:pass@example.com/",
        "https://example.com:22/",
        "ftp://example.com/",
        "example.com",
        "",
        "https://example.com/" + "x" * 3000,
    ],
)
def test_an_address_that_is_never_sent_to_is_refused_with_a_reason(api: APIClient, url: str) -> None:
    answer = make(api, url=url)
    assert answer.status_code == 400
    assert answer.json()["error"]["fields"]["url"][0]
    assert not WebhookEndpoint.objects.exists()


@pytest.mark.parametrize("events", [[], ["turn.started"], ["webhook.test"], "turn.finished", [1], None])
def test_unknown_kinds_are_refused(api: APIClient, events: Any) -> None:
    assert make(api, events=events).status_code == 400


def test_a_person_has_only_so_many(api: APIClient) -> None:
    for _ in range(limits.MAX_WEBHOOKS_PER_USER):
        assert make(api).status_code == 201
    answer = make(api)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "too_many_endpoints")


def test_what_cannot_be_set_is_not_set(api: APIClient, bob: User) -> None:
    made = make(api, user=bob.pk, failing_since="2020-01-01T00:00:00Z", secret="whsec_mine").json()
    row = WebhookEndpoint.objects.get(pk=made["id"])
    assert (row.user.username, row.failing_since) == ("ada", None)
    assert made["secret"] != "whsec_mine"


def test_changing_it_and_switching_it_on_again_forgets_its_failures(api: APIClient, made: WithSecret) -> None:
    WebhookEndpoint.objects.update(enabled=False, disabled_reason="gone", failing_since=timezone.now())
    url = f"/api/webhooks/{made.endpoint.pk}"
    changed = api.patch(url, {"enabled": True, "description": "new", "events": ALL[:1]}, format="json").json()
    assert (changed["enabled"], changed["disabled_reason"], changed["failing_since"]) == (True, "", None)
    assert (changed["description"], changed["events"]) == ("new", ALL[:1])
    assert api.patch(url, {"url": "https://10.0.0.1/"}, format="json").status_code == 400
    assert (
        api.patch(url, {"url": "https://example.org/"}, format="json").json()["url"] == "https://example.org/"
    )


def test_a_new_secret_is_shown_once_and_signs(api: APIClient, made: WithSecret, receiver: Receiver) -> None:
    answer = api.post(f"/api/webhooks/{made.endpoint.pk}/rotate")
    assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "no-store")
    secret = answer.json()["secret"]
    assert secret != made.secret
    work(deliveries.send_test(WebhookEndpoint.objects.get()))
    verify(secret, receiver.messages[0])


def test_deleting_it_deletes_its_log(api: APIClient, announced: Callable[..., WebhookDelivery]) -> None:
    delivery = announced()
    assert api.delete(f"/api/webhooks/{delivery.endpoint_id}").status_code == 204
    assert not WebhookDelivery.objects.exists()


# --- the log ------------------------------------------------------------------------------------------


def test_the_log_says_what_was_sent_and_what_came_of_it(
    api: APIClient, announced: Callable[..., WebhookDelivery], receiver: Receiver
) -> None:
    receiver.statuses = [500]
    delivery = work(announced(note="x"))
    newest = announced()
    listed = api.get(f"/api/webhooks/{delivery.endpoint_id}/deliveries").json()["results"]
    assert [row["id"] for row in listed] == [str(newest.pk), str(delivery.pk)]
    shown = listed[1]
    assert (shown["status"], shown["tries"], shown["response_status"]) == ("waiting", 1, 500)
    assert (shown["error"], shown["end_reason"]) == ("The receiver answered 500.", None)
    assert shown["next_try_at"] and shown["tried_at"] and shown["payload"]["data"]["note"] == "x"


def test_a_test_event_is_queued_and_shown(api: APIClient, made: WithSecret, receiver: Receiver) -> None:
    answer = api.post(f"/api/webhooks/{made.endpoint.pk}/test")
    assert (answer.status_code, answer.json()["status"]) == (202, "queued")
    delivery = work(WebhookDelivery.objects.get(pk=answer.json()["id"]))
    assert delivery.status == "completed"
    assert verify(made.secret, receiver.messages[0])["type"] == "webhook.test"


def test_a_replay_sends_the_same_event_under_the_same_id(
    api: APIClient, announced: Callable[..., WebhookDelivery], receiver: Receiver, made: WithSecret
) -> None:
    delivery = work(announced(note="again"))
    url = f"/api/webhooks/{delivery.endpoint_id}/deliveries/{delivery.pk}/replay"
    answer = api.post(url)
    assert (answer.status_code, answer.json()["status"], answer.json()["tries"]) == (202, "queued", 0)
    assert (api.post(url).status_code, api.post(url).json()["error"]["code"]) == (409, "still_on_its_way")
    assert work(delivery).status == "completed"
    assert receiver.ids == [delivery.event_id] * 2
    assert verify(made.secret, receiver.messages[1])["data"]["note"] == "again"


def test_nothing_is_sent_by_hand_to_one_that_is_switched_off(
    api: APIClient, announced: Callable[..., WebhookDelivery]
) -> None:
    delivery = work(announced())
    WebhookEndpoint.objects.update(enabled=False)
    own = f"/api/webhooks/{delivery.endpoint_id}"
    for url in (f"{own}/test", f"{own}/deliveries/{delivery.pk}/replay"):
        answer = api.post(url)
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "endpoint_disabled")


def test_sending_by_hand_has_a_limit(api: APIClient, made: WithSecret) -> None:
    codes = [
        api.post(f"/api/webhooks/{made.endpoint.pk}/test").status_code
        for _ in range(limits.WEBHOOK_TESTS_PER_MINUTE + 1)
    ]
    assert codes[0] == 202 and codes[-1] == 429


def test_what_ended_long_ago_is_forgotten(announced: Callable[..., WebhookDelivery]) -> None:
    old, fresh, waiting = work(announced()), work(announced()), announced()
    long_ago = timezone.now() - timedelta(seconds=limits.WEBHOOK_LOG_SECONDS + 1)
    WebhookDelivery.objects.filter(pk=old.pk).update(ended_at=long_ago)
    WebhookDelivery.objects.update(queued_at=long_ago)
    assert deliveries.forget_old() == 1
    assert {row.pk for row in WebhookDelivery.objects.all()} == {fresh.pk, waiting.pk}
    assert deliveries.forget_old() == 0


# --- strangers ----------------------------------------------------------------------------------------


def test_what_is_anothers_is_not_found(
    bobs_api: APIClient, announced: Callable[..., WebhookDelivery], made: WithSecret
) -> None:
    delivery = work(announced())
    own = f"/api/webhooks/{made.endpoint.pk}"
    unknown = bobs_api.get(f"/api/webhooks/{uuid.uuid4()}")
    answers = [
        bobs_api.get(own),
        bobs_api.patch(own, {"enabled": False}, format="json"),
        bobs_api.delete(own),
        bobs_api.post(f"{own}/rotate"),
        bobs_api.post(f"{own}/test"),
        bobs_api.get(f"{own}/deliveries"),
        bobs_api.post(f"{own}/deliveries/{delivery.pk}/replay"),
    ]
    assert {answer.status_code for answer in answers} == {404}
    assert all(answer.content == unknown.content for answer in answers)
    assert bobs_api.get("/api/webhooks").json()["results"] == []
    made.endpoint.refresh_from_db()
    assert made.endpoint.enabled


def test_a_delivery_is_only_found_under_its_own_endpoint(
    api: APIClient, announced: Callable[..., WebhookDelivery]
) -> None:
    delivery = work(announced())
    other = make(api).json()["id"]
    assert api.post(f"/api/webhooks/{other}/deliveries/{delivery.pk}/replay").status_code == 404


def test_without_a_login_there_is_nothing(made: WithSecret) -> None:
    assert APIClient().get("/api/webhooks").status_code == 401
    assert APIClient().post(f"/api/webhooks/{made.endpoint.pk}/test").status_code == 401
