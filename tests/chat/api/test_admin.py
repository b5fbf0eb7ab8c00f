"""The operators' view: everything is found, nothing is edited, actions are written down."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.test import Client

from accounts.models import User
from chat.models import Message, Session, Turn
from tests.chat.delivery.fake_worker import FakeWorker, answer

PAGES = ("session", "turn", "message", "step", "attempt")


@pytest.fixture
def operator(transactional_db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root", password="correct horse battery"))
    return client


def act(client: Client, page: str, action: str, *ids: object) -> None:
    body = {"action": action, "sure": "yes", "_selected_action": [str(one) for one in ids]}
    response = client.post(f"/admin/chat/{page}/", body, follow=True)
    assert response.status_code == 200


def test_every_page_lists_and_shows_and_finds(
    operator: Client, session: Session, send: Callable[..., Turn]
) -> None:
    turn = send("find me <script>alert(1)</script>")
    answer(turn, "an answer")
    message = Message.objects.get(role="user")
    rows = {
        "session": (session.pk, str(session.pk)),
        "turn": (turn.pk, str(turn.pk)),
        "message": (message.pk, "find me"),
        "step": (turn.steps.get().pk, str(turn.pk)),
        "attempt": (turn.attempts.get().pk, str(turn.pk)),
    }
    for page in PAGES:
        pk, words = rows[page]
        found = operator.get(f"/admin/chat/{page}/", {"q": words})
        assert f"/admin/chat/{page}/{pk}/change/" in found.content.decode(), page
        assert "nothing-like-it" not in found.content.decode()
        empty = operator.get(f"/admin/chat/{page}/", {"q": "nothing-like-it"}).content.decode()
        assert f"/admin/chat/{page}/{pk}/change/" not in empty
        shown = operator.get(f"/admin/chat/{page}/{pk}/change/").content.decode()
        assert "<script>alert(1)" not in shown + found.content.decode()
    assert "an answer" in operator.get(f"/admin/chat/turn/{turn.pk}/change/").content.decode()


def test_nothing_can_be_added_or_edited(operator: Client, send: Callable[..., Turn]) -> None:
    turn = send()
    for page in PAGES:
        assert operator.get(f"/admin/chat/{page}/add/").status_code == 403, page
    operator.post(f"/admin/chat/turn/{turn.pk}/change/", {"status": "completed"})
    turn.refresh_from_db()
    assert turn.status == "queued"


def test_cancelling_stops_what_lives_and_is_written_down(operator: Client, send: Callable[..., Turn]) -> None:
    done, queued = send(), send()
    answer(done)
    act(operator, "turn", "cancel", done.pk, queued.pk)
    assert set(Turn.objects.values_list("pk", "status")) == {(done.pk, "completed"), (queued.pk, "cancelled")}
    entry = LogEntry.objects.get()
    assert (entry.object_id, entry.change_message) == (str(queued.pk), "Cancelled.")


def test_cancelling_a_session_stops_everything_in_it(
    operator: Client, session: Session, send: Callable[..., Turn]
) -> None:
    running, queued = send(), send()
    FakeWorker(running)
    act(operator, "session", "cancel_all", session.pk)
    running.refresh_from_db()
    queued.refresh_from_db()
    assert running.cancel_requested_at is not None
    assert queued.status == "cancelled"
    assert LogEntry.objects.count() == 2


def test_requeueing_puts_an_ended_input_in_again(operator: Client, send: Callable[..., Turn]) -> None:
    failed = send("once more", client_id="k")
    FakeWorker(failed).finish(Turn.FAILED, "model_error")
    act(operator, "turn", "requeue", failed.pk)
    fresh = Turn.objects.exclude(pk=failed.pk).get()
    assert fresh.status == "queued"
    assert fresh.messages.get(role=Message.Role.USER).text == "once more"
    assert str(fresh.pk) in LogEntry.objects.get().change_message


def test_requeueing_gives_a_stuck_turn_to_another_worker(operator: Client, send: Callable[..., Turn]) -> None:
    turn = send()
    stuck = FakeWorker(turn, owner="stuck")
    act(operator, "turn", "requeue", turn.pk)
    heir = FakeWorker(turn, owner="heir")
    assert heir.lease.attempt == stuck.lease.attempt + 1
    heir.finish()
    assert LogEntry.objects.get().change_message == "Requeued."


def test_deleting_a_session_takes_the_products_own_way(
    operator: Client, session: Session, send: Callable[..., Turn]
) -> None:
    answer(send())
    act_response = operator.post(f"/admin/chat/session/{session.pk}/delete/", {"post": "yes"}, follow=True)
    assert act_response.status_code == 200
    assert not Session.objects.exists()


def test_staff_without_the_permission_see_and_do_nothing(
    send: Callable[..., Turn], transactional_db: None
) -> None:
    turn = send("secret words")
    staff = User.objects.create_user("staff", password="correct horse battery", is_staff=True)
    client = Client()
    client.force_login(staff)
    for page in PAGES:
        assert client.get(f"/admin/chat/{page}/").status_code == 403, page
    staff.user_permissions.add(Permission.objects.get(codename="view_turn"))
    assert client.get("/admin/chat/turn/").status_code == 200
    act(client, "turn", "cancel", turn.pk)
    turn.refresh_from_db()
    assert turn.status == "queued"
    assert "secret words" not in client.get(f"/admin/chat/turn/{turn.pk}/change/").content.decode()
