"""The operations room: it says what is wrong, shows how a turn went, and lets each group do its part and no more."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from accounts.models import LedgerEntry, User
from chat.models import Attempt, Session, Step, Turn
from copilot_project.console import groups
from copilot_project.console.board import read_board
from copilot_project.console.timeline import story
from durable import jobs, pausing
from durable.models import ParkedEntry, Pause, WorkerBeat
from durable.runtime import Runtime
from tools.models import ToolCall

pytestmark = pytest.mark.django_db
ALL_QUEUES = "executions,operations,turns,webhooks"


@pytest.fixture(autouse=True)
def _room(settings: Settings) -> None:
    settings.COPILOT_HEARTBEAT_SECONDS = 60.0  # a slow machine must not make a worker look silent
    groups.make_groups()


def person(name: str, group: str = "") -> User:
    user = User.objects.create_user(name, is_staff=bool(group))
    if group:
        user.groups.add(Group.objects.get(name=group))
    return user


def as_one_of(group: str) -> Client:
    client = Client()
    client.force_login(person(f"one-of-{group}", group))
    return client


def make_turn(status: str = "queued", **values: object) -> Turn:
    user, _ = User.objects.get_or_create(username="ann")
    return Turn.objects.create(session=Session.objects.create(user=user), user=user, status=status, **values)


def stuck_turn() -> Turn:
    over = timezone.now() - timedelta(minutes=5)
    return make_turn("running", attempt=1, owner="host:1:dead", lease_until=over)


def worker(name: str = "host:1:aa", *, age: float = 0.0) -> WorkerBeat:
    seen = timezone.now() - timedelta(seconds=age)
    return WorkerBeat.objects.create(name=name, kind=ALL_QUEUES, seen_at=seen)


def troubles() -> str:
    return " ".join(trouble.text for trouble in read_board().troubles)


def act(client: Client, action: str, *turns: Turn) -> int:
    body = {"action": action, "_selected_action": [str(turn.pk) for turn in turns]}
    return client.post("/admin/chat/turn/", body, follow=True).status_code


# --- the front page -----------------------------------------------------------------------------


def test_a_system_that_works_has_nothing_wrong() -> None:
    worker()
    make_turn("completed", end_reason="done")
    assert troubles() == ""


def test_the_front_page_names_everything_that_is_wrong(redis_server: object) -> None:
    worker("host:9:gone", age=600)
    stuck_turn()
    make_turn("failed", end_reason="model_error", ended_at=timezone.now())
    old = make_turn()
    Turn.objects.filter(pk=old.pk).update(queued_at=timezone.now() - timedelta(minutes=10))
    ParkedEntry.objects.create(stream="s", group="g", entry_id="1-1", fields={}, state="parked")
    text = troubles()
    for part in (
        "No worker serves the queue turns",
        "1 turns are stuck",
        "1 queued turns waits",
        "host:9:gone is silent",
        "1 turns of the last hour failed because of the model",
        "1 answers from outside could not be handled",
    ):
        assert part in text
    page = as_one_of("view").get("/admin/").content.decode()
    assert "host:9:gone" in page and "<svg" in page


def test_the_front_page_shows_what_was_spent_today() -> None:
    LedgerEntry.objects.create(
        user=person("bob"), key="k", kind="model", amount=Decimal("1.25"), created_at=timezone.now()
    )
    assert read_board().spent_today == 1.25
    assert read_board().charts[-1].total == "$1.25"


def test_a_member_of_staff_without_rights_sees_no_numbers() -> None:
    client = Client()
    client.force_login(User.objects.create_user("helper", is_staff=True))
    page = client.get("/admin/")
    assert page.status_code == 200
    assert page.context["board"] is None


# --- the timeline -------------------------------------------------------------------------------


def test_the_timeline_tells_a_failure_plainly() -> None:
    turn = make_turn("failed", end_reason="worker_lost", error="It died.", ended_at=timezone.now(), attempt=2)
    for number in (1, 2):
        Attempt.objects.create(turn=turn, number=number, owner=f"host:{number}:x", first_step=0)
    Step.objects.create(turn=turn, number=0, attempt=1, model_name="m", cost=Decimal("0.5"))
    ToolCall.objects.create(
        turn_id=turn.pk, session_id=turn.session_id, user=turn.user, step=0, index=0, call_id="c", name="web_fetch",
        arguments={}, attempt=1, state="failed", error="No answer.", started_at=turn.queued_at, ended_at=timezone.now(),
    )  # fmt: skip
    told = story(turn)
    assert [moment.kind for moment in told].count("takeover") == 1
    assert any(moment.is_bad and "No answer." in moment.text for moment in told)
    assert told[-1].kind in ("end", "tool")
    page = as_one_of("view").get(f"/admin/timeline/{turn.pk}/")
    assert page.status_code == 200 and b"web_fetch" in page.content


def test_the_timeline_is_for_those_who_may_look() -> None:
    client = Client()
    client.force_login(User.objects.create_user("helper", is_staff=True))
    assert client.get(f"/admin/timeline/{make_turn().pk}/").status_code == 403
    assert as_one_of("view").get("/admin/timeline/01a1e2c6-0000-7000-8000-000000000000/").status_code == 404


# --- acting -------------------------------------------------------------------------------------


def test_an_operator_marks_failed_and_it_is_written_down(redis_server: object) -> None:
    turns = [stuck_turn(), make_turn(), make_turn("completed", end_reason="done")]
    assert act(as_one_of("operate"), "mark_failed", *turns) == 200
    ends = [(turn.status, turn.end_reason) for turn in map(fresh, turns)]
    assert ends == [("failed", "operator"), ("failed", "operator"), ("completed", "done")]
    assert LogEntry.objects.filter(change_message__contains="Marked failed").count() == 2


def test_an_operator_releases_a_turn_from_its_worker(redis_server: object) -> None:
    turn = make_turn("running", attempt=1, owner="host:1:x", lease_until=timezone.now() + timedelta(hours=1))
    act(as_one_of("operate"), "release", turn)
    assert (fresh(turn).owner, fresh(turn).lease_until) == ("", None)
    lease = jobs.claim(Turn, turn.pk, owner="host:2:y")
    assert lease is not None and lease.attempt == 2


def test_who_only_looks_cannot_act() -> None:
    turn = make_turn()
    act(as_one_of("view"), "mark_failed", turn)
    assert fresh(turn).status == "queued"


def test_filters_find_the_stuck_and_the_old() -> None:
    stuck, young = stuck_turn(), make_turn()
    Turn.objects.filter(pk=stuck.pk).update(queued_at=timezone.now() - timedelta(days=2))
    client = as_one_of("view")
    for query in ("stuck=yes", "age=day"):
        page = client.get(f"/admin/chat/turn/?{query}").content.decode()
        assert str(stuck.pk) in page and str(young.pk) not in page


def fresh(turn: Turn) -> Turn:
    return Turn.objects.get(pk=turn.pk)


# --- groups -------------------------------------------------------------------------------------


def test_the_groups_grow_from_looking_to_everything() -> None:
    counts = {
        name: Group.objects.get(name=name).permissions.count()
        for name in (groups.VIEW, groups.OPERATE, groups.ADMINISTER)
    }
    assert counts["view"] < counts["operate"] < counts["administer"]
    operate = Group.objects.get(name=groups.OPERATE).permissions
    assert not operate.filter(codename__in=["change_user", "delete_user", "change_group"]).exists()


# --- pausing and draining -----------------------------------------------------------------------


def test_a_paused_queue_starts_nothing_until_it_goes_on() -> None:
    turn = make_turn()
    pausing.pause(Pause.Kind.QUEUE, "turns")
    ran: list[object] = []
    runtime = Runtime()
    runtime.pauses = pausing.Pauses.read()
    runtime.run(Turn, turn.pk, ran.append)
    assert ran == [] and fresh(turn).status == "queued"
    assert pausing.resume(Pause.Kind.QUEUE, "turns")
    assert pausing.Pauses.read() == pausing.Pauses()


def test_a_paused_person_waits_and_others_do_not() -> None:
    turn, other = (
        make_turn(),
        Turn.objects.create(session=Session.objects.create(user=person("bob")), status="queued"),
    )
    assert pausing.pause(Pause.Kind.USER, str(turn.user_id))
    assert not pausing.pause(Pause.Kind.USER, str(turn.user_id)), "once is enough"
    pauses = pausing.Pauses.read()
    assert pauses.hold(Turn, turn.pk)
    assert not pauses.hold(Turn, other.pk)
    assert turn.pk not in jobs.sweep(Turn, held=pauses.held_users())


def test_a_person_is_paused_and_resumed_in_the_admin() -> None:
    ann = person("ann")
    client = as_one_of("administer")
    for action, count in (("pause", 1), ("resume", 0)):
        client.post("/admin/accounts/user/", {"action": action, "_selected_action": [ann.pk]})
        assert Pause.objects.count() == count


def test_a_worker_that_is_asked_to_drain_gives_up_work_and_takes_it_up_again() -> None:
    runtime = Runtime()
    heard: list[bool] = []
    runtime.on_drain = heard.append
    beat = WorkerBeat.objects.create(name=runtime.owner, kind="turns", seen_at=timezone.now())
    client = as_one_of("operate")
    for action, draining in (("drain", True), ("take_up", False)):
        client.post("/admin/durable/workerbeat/", {"action": action, "_selected_action": [beat.pk]})
        runtime._obey()
        assert runtime.draining.is_set() is draining
    assert heard == [True, False]


def test_an_operator_pauses_a_queue_by_clicks_alone() -> None:
    client = as_one_of("operate")
    assert client.get("/admin/durable/pause/add/?kind=queue&name=turns").status_code == 200
    client.post(
        "/admin/durable/pause/add/", {"kind": "queue", "name": "turns", "reason": "the model is down"}
    )
    worker()
    assert "The queue turns is paused" in troubles()
    client.post(f"/admin/durable/pause/{Pause.objects.get().pk}/delete/", {"post": "yes"})
    assert not Pause.objects.exists()
