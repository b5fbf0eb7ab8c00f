"""Push: devices, what is sent to them and how often, quiet hours, switches, and pages that claim a notice first."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from datetime import datetime, time, timedelta

import pytest
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from accounts.models import User
from durable import jobs
from tests.webhooks.push_service import PushService, push_service
from webhooks import notices, push_sender, subscriptions, vapid_keys
from webhooks.events import NoticeKind
from webhooks.models import NotificationSettings, PushNotice, PushSubscription, VapidKey
from webhooks.notices import NoticeText


@pytest.fixture
def service(settings: Settings) -> Iterator[PushService]:
    with push_service() as found:
        settings.BOUNDARY_ALLOWED_HOSTS = [found.host]
        yield found


@pytest.fixture
def api(ada: User) -> APIClient:
    client = APIClient()
    client.force_authenticate(ada)
    return client


def subscribe(user: User, service: PushService, name: str) -> PushSubscription:
    given = service.subscription(name)
    kept = subscriptions.subscribe(user, endpoint=given["endpoint"], **given["keys"], name=name)
    user.refresh_from_db()
    return kept


def announce(
    user: User, kind: NoticeKind = NoticeKind.ANSWER, subject_id: uuid.UUID | None = None
) -> PushNotice:
    pk = subject_id or uuid.uuid4()
    subject = "review" if kind == NoticeKind.REVIEW else "turn"
    text = NoticeText(kind=kind, subject="Three offers", url=f"/c/{pk}")
    notices.announce(user=user, subject=subject, subject_id=pk, describe=lambda: text)
    return PushNotice.objects.get(event_id=f"{subject}:{pk}")


def work(notice: PushNotice) -> PushNotice:
    """Let the time come that it waits for, and a worker with it."""
    PushNotice.objects.filter(pk=notice.pk, status=PushNotice.WAITING).update(
        run_at=timezone.now() - timedelta(seconds=1)
    )
    lease = jobs.claim(PushNotice, notice.pk, owner="worker")
    assert lease is not None
    push_sender.run(lease)
    notice.refresh_from_db()
    return notice


def test_a_notice_reaches_the_browser_encrypted_and_signed(ada: User, service: PushService) -> None:
    subscribe(ada, service, "phone")
    notice = work(announce(ada, NoticeKind.REVIEW))
    assert (notice.status, notice.end_reason) == ("completed", "pushed")
    [(name, told)] = service.messages
    assert name == "phone"
    assert told["id"] == notice.event_id
    assert (told["kind"], told["subject"], told["review"]) == ("review", "Three offers", notice.event_id[7:])
    [claim] = service.claims
    assert claim["sub"].startswith("mailto:")
    assert service.headers[0]["content-encoding"] == "aes128gcm"
    assert int(service.headers[0]["ttl"]) > 0


def test_an_event_is_told_once_over_all_devices_by_the_one_used_last(ada: User, service: PushService) -> None:
    subscribe(ada, service, "laptop")
    subscribe(ada, service, "phone")
    notice = announce(ada)
    notices.announce(
        user=ada,
        subject="turn",
        subject_id=uuid.UUID(notice.event_id[5:]),
        describe=lambda: NoticeText(kind=NoticeKind.ANSWER, subject="", url="/"),
    )
    assert PushNotice.objects.count() == 1
    work(notice)
    assert [name for name, _ in service.messages] == ["phone"]


def test_a_device_that_is_gone_is_forgotten_and_the_next_one_takes_it(
    ada: User, service: PushService
) -> None:
    subscribe(ada, service, "laptop")
    subscribe(ada, service, "phone")
    service.statuses["phone"] = 410
    work(announce(ada))
    assert [name for name, _ in service.messages] == ["laptop"]
    assert PushSubscription.objects.get().name == "laptop"


def test_all_devices_take_it_where_that_was_chosen(ada: User, service: PushService) -> None:
    NotificationSettings.objects.create(user=ada, all_devices=True)
    for name in ("laptop", "phone"):
        subscribe(ada, service, name)
    work(announce(ada))
    assert sorted(name for name, _ in service.messages) == ["laptop", "phone"]


def test_a_push_service_that_fails_is_tried_again_later_and_given_up_at_last(
    ada: User, service: PushService
) -> None:
    subscribe(ada, service, "phone")
    service.statuses["phone"] = 503
    notice = work(announce(ada))
    assert (notice.status, notice.tries) == ("waiting", 1)
    assert notice.error == "The push service answered 503."
    for _ in range(5):
        work(notice)
    assert (notice.status, notice.end_reason, notice.tries) == ("failed", "gave_up", 6)


def test_a_worker_that_takes_over_sends_to_no_device_twice(ada: User, service: PushService) -> None:
    NotificationSettings.objects.create(user=ada, all_devices=True)
    first, _ = subscribe(ada, service, "laptop"), subscribe(ada, service, "phone")
    notice = announce(ada)
    PushNotice.objects.filter(pk=notice.pk).update(delivered_to=[str(first.pk)])
    work(notice)
    assert [name for name, _ in service.messages] == ["phone"]


def test_a_page_that_claims_a_notice_shows_it_instead_and_only_one_does(
    ada: User, bob: User, service: PushService
) -> None:
    subscribe(ada, service, "phone")
    notice = announce(ada)
    assert notices.claim(ada, notice.event_id) is True
    assert notices.claim(ada, notice.event_id) is False
    assert work(notice).end_reason == "seen"
    assert not service.messages
    assert notices.claim(ada, "turn:unheard") is True, "of an event that nothing would be pushed for"
    assert notices.claim(ada, "turn:unheard") is False
    assert notices.claim(bob, notice.event_id) is True, "another person's pages have nothing to do with it"
    pushed = work(announce(ada))
    assert notices.claim(ada, pushed.event_id) is False


def test_what_was_dealt_with_meanwhile_is_not_pushed(ada: User, service: PushService) -> None:
    subscribe(ada, service, "phone")
    subject = uuid.uuid4()
    notice = announce(ada, NoticeKind.REVIEW, subject)
    notices.withdraw(ada.pk, "review", subject)
    assert work(notice).end_reason == "seen"
    assert not service.messages


def test_nothing_is_queued_for_who_has_no_device_or_has_switched_it_off(
    ada: User, service: PushService
) -> None:
    text = NoticeText(kind=NoticeKind.RUN, subject="", url="/")
    for user in (ada, None):
        notices.announce(user=user, subject="execution", subject_id=uuid.uuid4(), describe=lambda: text)
    subscribe(ada, service, "phone")
    NotificationSettings.objects.create(user=ada, runs=False)
    notices.announce(user=ada, subject="execution", subject_id=uuid.uuid4(), describe=lambda: text)
    assert not PushNotice.objects.exists()
    answer = announce(ada)
    NotificationSettings.objects.update(answers=False)
    assert work(answer).end_reason == "switched_off"


@pytest.mark.parametrize(
    ("now", "start", "end", "until"),
    [
        ("23:30", "22:00", "07:00", "07:00"),
        ("06:59", "22:00", "07:00", "07:00"),
        ("07:00", "22:00", "07:00", None),
        ("12:30", "12:00", "13:00", "13:00"),
        ("13:00", "12:00", "13:00", None),
        ("12:00", "12:00", "12:00", None),
    ],
)
def test_quiet_hours_are_in_the_persons_time_zone_and_may_span_midnight(
    ada: User, now: str, start: str, end: str, until: str | None
) -> None:
    ada.time_zone = "America/New_York"
    moment = datetime.combine(datetime(2026, 3, 2), time.fromisoformat(now), tzinfo=ada.zone)
    chosen = NotificationSettings(
        user=ada, quiet_from=time.fromisoformat(start), quiet_until=time.fromisoformat(end)
    )
    found = notices.quiet_until(chosen, ada, moment)
    assert (found and found.strftime("%H:%M")) == until
    assert found is None or timedelta() < found - moment < timedelta(days=1)


def test_a_push_waits_until_the_quiet_hours_end(ada: User, service: PushService) -> None:
    subscribe(ada, service, "phone")
    now = timezone.now()
    NotificationSettings.objects.create(
        user=ada, quiet_from=(now - timedelta(hours=1)).time(), quiet_until=(now + timedelta(hours=1)).time()
    )
    notice = work(announce(ada))
    assert notice.status == "waiting"
    assert notice.run_at is not None and notice.run_at > now + timedelta(minutes=50)
    NotificationSettings.objects.update(quiet_from=None, quiet_until=None)
    assert work(notice).end_reason == "pushed"


# --- over HTTP ------------------------------------------------------------------------------------


def test_a_device_is_added_renewed_listed_and_removed(
    api: APIClient, ada: User, service: PushService
) -> None:
    given = service.subscription("phone")
    first = api.post("/api/push/subscriptions", given, format="json")
    again = api.post("/api/push/subscriptions", given | {"name": "renewed"}, format="json")
    assert (first.status_code, again.status_code) == (201, 201)
    state = api.get("/api/push").json()
    assert [row["name"] for row in state["subscriptions"]] == ["renewed"]
    assert given["endpoint"] not in json.dumps(state)
    assert len(state["public_key"]) > 80
    ada.refresh_from_db()
    assert ada.has_push
    assert api.delete(f"/api/push/subscriptions/{first.json()['id']}").status_code == 204
    assert api.delete(f"/api/push/subscriptions/{first.json()['id']}").status_code == 404
    ada.refresh_from_db()
    assert not ada.has_push
    assert api.post("/api/push/test").status_code == 409


def test_a_browser_belongs_to_who_logged_in_last_and_a_stranger_cannot_remove_it(
    api: APIClient, ada: User, bob: User, service: PushService
) -> None:
    kept = subscribe(bob, service, "shared")
    assert api.delete(f"/api/push/subscriptions/{kept.pk}").status_code == 404
    api.post("/api/push/subscriptions", service.subscription("shared"), format="json")
    bob.refresh_from_db()
    ada.refresh_from_db()
    assert (PushSubscription.objects.get().user, bob.has_push, ada.has_push) == (ada, False, True)


@pytest.mark.parametrize(
    "change",
    [
        {"endpoint": "http://169.254.169.254/latest"},
        {"endpoint": "https://127.0.0.1:1/push"},
        {"endpoint": "file:///etc/passwd"},
        {"keys": {"p256dh": "AAAA", "auth": "AAAA"}},
        {"keys": {"p256dh": "no base64!", "auth": "%%"}},
        {"keys": {}},
        {"language": "<b>"},
    ],
)
def test_what_is_no_subscription_is_refused(
    api: APIClient, service: PushService, change: dict[str, object]
) -> None:
    answer = api.post("/api/push/subscriptions", service.subscription("x") | change, format="json")
    assert answer.status_code == 400
    assert not PushSubscription.objects.exists()


def test_settings_are_kept_and_half_a_night_is_refused(api: APIClient) -> None:
    assert api.get("/api/notifications/settings").json()["answers"] is True
    changed = {"answers": False, "quiet_from": "22:00", "quiet_until": "07:00"}
    assert api.patch("/api/notifications/settings", changed, format="json").status_code == 200
    assert api.get("/api/notifications/settings").json()["quiet_from"] == "22:00:00"
    refused = api.patch("/api/notifications/settings", {"quiet_until": None}, format="json")
    assert refused.status_code == 400
    assert "quiet_until" in refused.json()["error"]["fields"]


def test_a_claim_names_an_event(api: APIClient) -> None:
    event = {"event": f"turn:{uuid.uuid4()}"}
    assert api.post("/api/notifications/claim", event, format="json").json() == {"show": True}
    assert api.post("/api/notifications/claim", event, format="json").json() == {"show": False}
    assert api.post("/api/notifications/claim", {"event": "nonsense"}, format="json").status_code == 400


def test_the_key_is_made_once_and_sealed(db: None) -> None:
    first = vapid_keys.key_pair()
    assert vapid_keys.key_pair() == first
    assert "PRIVATE" not in VapidKey.objects.get().sealed_private_key
    assert vapid_keys.public_key() == first.application_server_key


def test_a_test_push_goes_to_every_device_even_in_quiet_hours(
    api: APIClient, ada: User, service: PushService
) -> None:
    for name in ("laptop", "phone"):
        subscribe(ada, service, name)
    NotificationSettings.objects.create(user=ada, quiet_from=time(0, 0), quiet_until=time(23, 59))
    assert api.post("/api/push/test").status_code == 202
    work(PushNotice.objects.get())
    assert [told["kind"] for _, told in service.messages] == ["test", "test"]
