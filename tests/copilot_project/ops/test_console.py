"""The operations room: it says what is wrong, shows how a turn went, and lets each group do its part and no more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.admin.utils import flatten_fieldsets
from django.contrib.auth.models import Group
from django.db.models import Model
from django.test import Client, RequestFactory
from django.utils import timezone
from pytest_django import Settings

from accounts.models import LedgerEntry, User
from chat.models import Attempt, Session, Step, Turn
from copilot_project.celery import app
from copilot_project.ops.console import groups
from copilot_project.ops.console.alerts import Alert, find_alerts
from copilot_project.ops.console.dashboard import read_dashboard
from copilot_project.ops.console.timeline import read_timeline
from copilot_project.ops.metrics.gauges import queue_lengths
from durable import counters, jobs, limits, pauses
from durable.liveness import LivenessSignal
from durable.models import Cause, ParkedEntry, Pause, WorkerBeat
from durable.redis import client as redis
from durable.redis import key
from durable.runtime import Runtime
from tests.harness import eventually, free_port
from tools.models import ToolCall
from tools.operations import completion_stream

pytestmark = pytest.mark.django_db
ALL_QUEUES = "executions,operations,turns,webhooks"


@pytest.fixture(autouse=True)
def _room(monkeypatch: pytest.MonkeyPatch, redis_server: object) -> Iterator[None]:
    """A slow machine must not make a worker look silent. The interval of the heartbeat itself stays: a thread of it
    that an earlier test started would sleep for a minute, and the jobs of later tests would not hear that they were
    lost."""
    monkeypatch.setattr(limits, "WORKER_FRESH_BEATS", 180)
    groups.make_groups()
    forget_counts()
    LivenessSignal("beat").give()
    yield
    redis().delete(key("alive", "beat"), key("alive", completion_stream.GROUP), completion_stream.STREAM)
    forget_counts()


def forget_counts() -> None:
    for name in redis().scan_iter(key("tallies", "*")):
        redis().delete(name)


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
    return " ".join(trouble.text for trouble in find_alerts(read_dashboard()))


def act(client: Client, action: str, *turns: Turn) -> int:
    body = {"action": action, "sure": "yes", "_selected_action": [str(turn.pk) for turn in turns]}
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
        "No worker serves the queues executions, operations, turns and webhooks.",
        "1 turn is stuck",
        "1 turn queued; the oldest has waited for 10 min.",
        "host:9:gone has not sent a heartbeat for 10 min.",
        "1 turn failed in the last hour because of the model",
        "1 result of external services could not be processed",
    ):
        assert part in text
    page = as_one_of("view").get("/admin/").content.decode()
    assert "host:9:gone" in page and "<svg" in page


def test_the_front_page_shows_what_was_spent_today() -> None:
    LedgerEntry.objects.create(
        user=person("bob"), key="k", kind="model", amount=Decimal("1.25"), created_at=timezone.now()
    )
    assert read_dashboard().spent_today == 1.25
    assert read_dashboard().charts[-1].total == "$1.25"


def test_a_chart_has_a_scale_its_hours_and_its_numbers_in_words() -> None:
    hour = timezone.now().replace(minute=0, second=0, microsecond=0)
    for ago, count in ((3, 2), (1, 5)):
        for turn in [make_turn("completed", end_reason="done") for _ in range(count)]:
            Turn.objects.filter(pk=turn.pk).update(queued_at=hour - timedelta(hours=ago))
    chart = read_dashboard().charts[0]
    early, late = (f"{hour - timedelta(hours=ago):%H}:00" for ago in (3, 1))
    assert (chart.title, chart.total, chart.most) == ("Turns", "7", "5")
    assert chart.numbers == f"{early} 2, {late} 5"
    assert (chart.hours[0], chart.hours[-1]) == (f"{hour - timedelta(hours=23):%H}:00", f"{hour:%H}:00")
    page = as_one_of("view").get("/admin/").content.decode()
    assert f'aria-label="Turns by hour: {early} 2, {late} 5"' in page
    assert 'aria-label="Failed turns by hour: nothing in the last day"' in page


def test_a_trouble_stays_the_same_while_its_numbers_grow() -> None:
    def lines(seconds: float) -> list[str]:
        WorkerBeat.objects.update(seen_at=timezone.now() - timedelta(seconds=seconds))
        return [trouble.key for trouble in find_alerts(read_dashboard())]

    worker("host:9:gone")
    assert lines(600) == lines(100_000) and len(set(lines(600))) == 2
    assert Alert(text="4 turns wait, the oldest for under 1 s.", todo="").key == Alert(
        text="1,204 turns wait, the oldest for 3.5 s.", todo=""
    ).key  # fmt: skip


def test_a_member_of_staff_without_rights_sees_no_numbers() -> None:
    client = Client()
    client.force_login(User.objects.create_user("helper", is_staff=True))
    page = client.get("/admin/")
    assert page.status_code == 200
    assert page.context["board"] is None


@contextmanager
def no_redis(settings: Settings) -> Iterator[None]:
    address, settings.REDIS_URL = settings.REDIS_URL, "unix:///nowhere.sock"
    redis._forget()
    yield
    settings.REDIS_URL = address
    redis._forget()


def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app.conf, "broker_url", f"redis://127.0.0.1:{free_port()}/0")


def test_a_redis_that_is_away_is_told(settings: Settings) -> None:
    worker()
    with no_redis(settings):
        page = as_one_of("view").get("/admin/")
        told = troubles()
    assert page.status_code == 200 and not page.context["healthy"]
    assert 'aria-label="Failed requests to the model by hour: unknown"' in page.content.decode()
    assert told == "Redis does not answer.", "what only Redis knows is not guessed at"


def test_a_broker_that_is_away_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    worker()
    no_broker(monkeypatch)
    assert troubles() == "The broker does not answer."


def test_a_beat_that_is_away_is_told() -> None:
    worker()
    redis().delete(key("alive", "beat"))
    assert troubles() == "Beat is not running."


def test_a_consumer_of_completions_that_is_away_is_told_once_it_is_needed() -> None:
    worker()
    assert troubles() == ""
    redis().xadd(completion_stream.STREAM, {"task_id": "x"})
    assert troubles() == "No consumer reads the results of external services."
    LivenessSignal(completion_stream.GROUP).give()
    assert troubles() == ""


def queue_turns(count: int, *, seconds: float, user: User | None = None) -> list[Turn]:
    """Queued so long ago, each in a conversation of its own."""
    user = user or person("crowd")
    sessions = Session.objects.bulk_create(Session(user=user) for _ in range(count))
    turns = Turn.objects.bulk_create(Turn(session=found, user=user, status="queued") for found in sessions)
    Turn.objects.filter(session__in=sessions).update(queued_at=timezone.now() - timedelta(seconds=seconds))
    return turns


def test_a_queue_that_fills_is_told_within_seconds() -> None:
    worker()
    queue_turns(12, seconds=7)
    make_turn("running", attempt=1, owner="host:1:aa", lease_until=timezone.now() + timedelta(hours=1))
    assert troubles().startswith(
        "The queue turns is filling up: 12 turns could start but no worker is free, the oldest "
    )
    assert troubles().endswith("; 1 is running.")


def test_a_burst_is_no_trouble_while_workers_take_it_up() -> None:
    worker()
    queue_turns(500, seconds=-60)  # they come just now
    queue_turns(3, seconds=7, user=person("few"))
    assert troubles() == ""


def test_what_waits_for_its_own_person_does_not_fill_a_queue(settings: Settings) -> None:
    worker()
    settings.COPILOT_MAX_RUNNING_TURNS_PER_USER = 1
    make_turn("running", attempt=1, owner="host:1:aa", lease_until=timezone.now() + timedelta(hours=1))
    queue_turns(20, seconds=7, user=User.objects.get(username="ann"))
    paused = person("paused")
    queue_turns(20, seconds=7, user=paused)
    pauses.pause(Pause.Kind.USER, str(paused.pk))
    assert troubles() == "1 person paused."


def test_how_long_the_oldest_waits_is_said_the_same_in_the_line_and_in_the_table() -> None:
    worker()
    queue_turns(4, seconds=-60)
    pauses.pause(Pause.Kind.QUEUE, "turns")
    page = as_one_of("view").get("/admin/board/").content.decode()
    assert "4 turns wait, the oldest for under 1 s." in page and "<td>under 1 s</td>" in page


# --- the timeline -------------------------------------------------------------------------------


def test_the_timeline_tells_a_failure_plainly() -> None:
    turn = make_turn("failed", end_reason="worker_lost", error="It died.", ended_at=timezone.now(), attempt=2)
    for number in (1, 2):
        cause = Cause.WORKER_LOST if number > 1 else Cause.QUEUED
        Attempt.objects.create(turn=turn, number=number, owner=f"host:{number}:x", first_step=0, cause=cause)
    Step.objects.create(
        turn=turn, number=0, attempt=1, model_name="m", cost=Decimal("0.5"), finish_reason="tool_calls"
    )
    ToolCall.objects.create(
        turn_id=turn.pk, session_id=turn.session_id, user=turn.user, step=0, index=0, call_id="c", name="web_fetch",
        arguments={}, attempt=1, state="failed", error="No answer.", started_at=turn.queued_at, ended_at=timezone.now(),
    )  # fmt: skip
    LedgerEntry.objects.create(
        key=f"turn:{turn.pk}:step:0", kind="model", description="m", amount=Decimal("0.001234"), job_id=turn.pk,
        created_at=turn.queued_at,
    )  # fmt: skip
    told = read_timeline(turn).entries
    texts = [moment.text for moment in told]
    assert [moment.kind for moment in told].count("takeover") == 1
    assert "The lease of host:1:x had expired: it died or lost the database." in texts
    assert "Attempt 2: host:2:x took over, from the start." in texts
    assert "Step 0 by m: 0 tokens in, 0 out, $0.50. Then it called tools." in texts
    assert "$0.0012 for the model m." in texts
    assert "Failed: its workers died. It died." in texts
    assert any(moment.is_bad and "No answer." in moment.text for moment in told)
    assert told[-1].kind in ("end", "tool")
    page = as_one_of("view").get(f"/admin/timeline/{turn.pk}/")
    text = page.content.decode()
    assert page.status_code == 200 and "web_fetch" in text
    assert "Failed: its workers died" in text and "$0.00<" in text
    for word in ("worker_lost", "tool_calls", "$0.000000", f"turn:{turn.pk}"):
        assert word not in text, word


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
    pauses.pause(Pause.Kind.QUEUE, "turns")
    ran: list[object] = []
    runtime = Runtime()
    runtime.pauses = pauses.Pauses.read()
    runtime.run(Turn, turn.pk, ran.append)
    assert ran == [] and fresh(turn).status == "queued"
    assert pauses.resume(Pause.Kind.QUEUE, "turns")
    assert pauses.Pauses.read() == pauses.Pauses()


def test_a_paused_person_waits_and_others_do_not() -> None:
    turn, other = (
        make_turn(),
        Turn.objects.create(session=Session.objects.create(user=person("bob")), status="queued"),
    )
    assert pauses.pause(Pause.Kind.USER, str(turn.user_id))
    assert not pauses.pause(Pause.Kind.USER, str(turn.user_id)), "once is enough"
    current = pauses.Pauses.read()
    assert current.hold(Turn, turn.pk)
    assert not current.hold(Turn, other.pk)
    assert turn.pk not in jobs.sweep(Turn, held=current.held_users())


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
        runtime._apply_operator_requests()
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


# --- what every page keeps to -------------------------------------------------------------------

PAGES = sorted(
    f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
    for model in admin.site._registry
    if not model.__module__.startswith("tests.")
)
SECRET_WORDS = ("secret", "sealed", "password", "digest", "hash", "token", "value")
NO_SECRETS = {"old_secret_until", "input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens"}


def test_a_member_of_staff_without_rights_is_refused_on_every_page() -> None:
    client = Client()
    client.force_login(User.objects.create_user("helper", is_staff=True))
    answers = {page: client.get(page).status_code for page in [*PAGES, "/admin/board/"]}
    assert set(answers.values()) == {403}, answers


def test_who_looks_sees_every_list_and_adds_nothing() -> None:
    client = as_one_of("view")
    assert {page: client.get(page).status_code for page in PAGES} == dict.fromkeys(PAGES, 200)
    assert {page: client.get(f"{page}add/").status_code for page in PAGES} == dict.fromkeys(PAGES, 403)


def test_no_page_has_a_field_for_a_secret() -> None:
    request = RequestFactory().get("/admin/")
    request.user = User.objects.create_superuser("root")
    for model, page in admin.site._registry.items():
        shown = {
            *flatten_fieldsets(page.get_fieldsets(request, model())),
            *map(str, page.get_list_display(request)),
        }
        bad = {name for name in shown - NO_SECRETS if any(word in name for word in SECRET_WORDS)}
        assert bad <= ({"password"} if model is User else set()), model  # Django shows its algorithm alone


def test_every_action_of_an_operator_is_written_down(redis_server: object) -> None:
    client = as_one_of("operate")
    turn, gone, parked = make_turn(), worker("host:9:gone", age=600), park()
    ann = User.objects.get(username="ann")
    done: dict[str, list[tuple[Model, str]]] = {
        "chat/turn": [(turn, "requeue"), (turn, "cancel")],
        "durable/workerbeat": [(worker(), "drain"), (gone, "forget")],
        "durable/parkedentry": [(parked, "replay"), (parked, "drop")],
        "accounts/user": [(ann, "pause"), (ann, "resume")],
    }
    for page, acts in done.items():
        for row, action in acts:
            before = LogEntry.objects.count()
            body = {"action": action, "sure": "yes", "_selected_action": [str(row.pk)]}
            assert client.post(f"/admin/{page}/", body, follow=True).status_code == 200
            assert LogEntry.objects.count() == before + 1, (page, action)
    assert set(LogEntry.objects.values_list("user__username", flat=True)) == {"one-of-operate"}


def park() -> ParkedEntry:
    return ParkedEntry.objects.create(
        stream="test:stream", group="g", entry_id="1-1", fields={"a": "b"}, state="parked"
    )


def test_what_cannot_be_undone_asks_first_and_happens_to_the_rows_it_showed(redis_server: object) -> None:
    client, turn = as_one_of("operate"), make_turn()
    for address, body in {
        "/admin/chat/turn/": {"action": "mark_failed", "_selected_action": [str(turn.pk)]},
        f"/admin/chat/turn/{turn.pk}/change/": {"_act": "mark_failed"},
    }.items():
        page = client.post(address, body)
        assert b"Are you sure?" in page.content and str(turn.pk).encode() in page.content
        assert fresh(turn).status == "queued" and not LogEntry.objects.exists()
        again = dict(page.context["again"])
        assert again.get("action", again.get("_act")) == "mark_failed"
    client.post(f"/admin/chat/turn/{turn.pk}/change/", {"_act": "mark_failed", "sure": "yes"})
    assert fresh(turn).status == "failed"


def test_who_is_asked_first_sees_whose_rows_these_are_and_what_the_button_does() -> None:
    client, turn = as_one_of("operate"), make_turn()
    Session.objects.filter(pk=turn.session_id).update(title="A bench by the river")
    page = client.post(f"/admin/chat/turn/{turn.pk}/change/", {"_act": "mark_failed"})
    assert page.context["columns"] == ["Id", "Person", "About", "Status", "Queued"]
    for part in ("ann", "A bench by the river", ">queued<", ">just now<", ">Mark 1 turn failed<"):
        assert part in page.content.decode(), part
    both = [str(turn.pk), str(make_turn().pk)]
    page = client.post("/admin/chat/turn/", {"action": "cancel", "_selected_action": both})
    assert ">Cancel 2 turns<" in page.content.decode() and "No title yet" in page.content.decode()
    page = client.post(
        "/admin/chat/session/", {"action": "cancel_all", "_selected_action": [turn.session_id]}
    )
    assert ">Cancel all turns in 1 session<" in page.content.decode()
    gone = worker("host:9:gone", age=600)
    page = client.post(f"/admin/durable/workerbeat/{gone.pk}/change/", {"_act": "forget"})
    assert ">Forget 1 worker<" in page.content.decode() and "host:9:gone" in page.content.decode()


def test_a_button_is_there_only_where_it_does_something() -> None:
    client = as_one_of("operate")
    expected = {
        "queued": {"cancel", "requeue", "mark_failed"},
        "running": {"cancel", "requeue", "release", "mark_failed"},
        "completed": {"requeue"},
    }
    for status, names in expected.items():
        page = client.get(f"/admin/timeline/{make_turn(status).pk}/")
        assert {button.name for button in page.context["buttons"]} == names
    looking = as_one_of("view")
    turn = make_turn()
    assert looking.get(f"/admin/timeline/{turn.pk}/").context["buttons"] == []
    assert (
        looking.post(
            f"/admin/chat/turn/{turn.pk}/change/", {"_act": "mark_failed", "sure": "yes"}
        ).status_code
        == 403
    )
    assert fresh(turn).status == "queued"


def test_a_failure_that_was_answered_since_is_no_trouble() -> None:
    worker()
    turn = make_turn("failed", end_reason="model_error", ended_at=timezone.now())
    assert "1 turn failed in the last hour because of the model." in troubles()
    Turn.objects.create(session=turn.session, user=turn.user, status="completed", end_reason="done")
    assert troubles() == ""


def test_errors_of_the_model_are_told_by_kind(settings: Settings) -> None:
    worker()
    for kind in ("unavailable", "unavailable", "rate_limited"):
        counters.count(counters.CounterBuffer.MODEL_ERRORS, kind)
    eventually(
        lambda: "failed in the last hour: 1 rate limited and 2 not reachable." in troubles(), seconds=10
    )
    assert "3 requests to the default model failed" in troubles()
    settings.COPILOT_MODEL = "offline"
    assert "3 requests to the model 'offline' failed" in troubles()


def test_without_its_broker_the_front_page_still_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    no_broker(monkeypatch)
    assert queue_lengths() is None
    page = as_one_of("view").get("/admin/")
    assert page.status_code == 200
    assert page.context["board"].rows[0].name == "turns"
