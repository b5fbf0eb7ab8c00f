"""POST /api/hooks/{token}: stored first, started once, and only for those who may (SECURITY 70-76)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.db import DataError, OperationalError, connection
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from accounts.models import User
from durable import rate_limit
from durable.signals import swept
from executions import limits
from executions.agents.versions import save_graph
from executions.models import Agent, Execution, Trigger, TriggerDelivery
from executions.triggers import receive
from executions.triggers.actions import TriggerSecrets, change, rotate_address, rotate_secret
from executions.triggers.dispatch import forget_old, start_delivery, start_late
from tests.accounts.conftest import race
from tests.executions.people import greeter_graph, import_valid, link, node
from tests.executions.triggers.conftest import call, github, make, standard

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis_server")]


SENT_HEADERS = {
    "X-Event": "paid",
    "Authorization": "Bearer canary",
    "X-Gitlab-Token": "canary",
    "X-Api-Key": "canary",
    "Cookie": "canary=1",
}


def only() -> TriggerDelivery:
    return TriggerDelivery.objects.get()


def test_a_call_is_stored_and_starts_the_agent_with_what_was_sent(called: Agent) -> None:
    answer = call(make(called), {"order": 7}, SENT_HEADERS)
    assert answer.status_code == 202, answer.json()
    delivery = only()
    execution = Execution.objects.get()
    assert answer.json() == {
        "delivery_id": str(delivery.pk),
        "state": "started",
        "execution_id": str(execution.pk),
    }
    assert (execution.source, execution.user, execution.agent) == ("trigger", called.user, called)
    assert execution.node_inputs == {"hook": {"payload": {"order": 7}}}
    assert (delivery.payload, delivery.state, delivery.tries) == ({"order": 7}, "started", 1)
    assert delivery.headers["x-event"] == "paid" and "canary" not in str(delivery.headers)
    assert delivery.trigger.called_at is not None


def test_without_a_trigger_block_inputs_get_what_is_named_like_them(greeter: Agent) -> None:
    call(make(greeter), {"name": "Ada", "more": 1})
    assert Execution.objects.get().inputs == {"name": "Ada"}


def test_what_the_owner_fixed_cannot_be_changed_by_a_caller(greeter: Agent) -> None:
    call(make(greeter, inputs={"name": "fixed"}), {"name": "Mallory"})
    assert Execution.objects.get().inputs == {"name": "fixed"}


def test_an_input_named_payload_gets_all_of_it(ada: User) -> None:
    graph = greeter_graph()
    graph["nodes"][0]["input_default"] = {"name": "payload"}
    call(make(import_valid(ada, graph)), {"a": 1})
    assert Execution.objects.get().inputs == {"payload": {"a": 1}}


def test_of_several_trigger_blocks_the_chosen_one_gets_the_payload(ada: User) -> None:
    nodes = [
        node("a", "Generic Webhook Trigger"),
        node("b", "Generic Webhook Trigger"),
        node("out", "Agent Output", name="got"),
    ]
    links = [link("a", "payload", "out", "value"), link("b", "constants", "out", "value")]
    agent = import_valid(ada, {"name": "Two", "nodes": nodes, "links": links})
    call(make(agent, node_id="b"))
    call(make(agent))
    chosen, everything = (one.node_inputs for one in Execution.objects.order_by("queued_at"))
    assert chosen == {"b": {"payload": {"order": 7}}}
    assert everything == {"a": {"payload": {"order": 7}}, "b": {"payload": {"order": 7}}}


def test_a_chosen_trigger_block_that_is_gone_fails_the_call_with_the_reason(called: Agent) -> None:
    shown = make(called, node_id="hook")
    save_graph(called, greeter_graph())
    call(shown)
    delivery = TriggerDelivery.objects.get()
    assert (delivery.state, "no longer has a trigger block with the id 'hook'" in delivery.error) == (
        "failed",
        True,
    )
    assert not Execution.objects.exists()


def test_it_follows_the_newest_version_unless_pinned(called: Agent) -> None:
    pinned = make(called, version=called.latest_version)
    assert call(pinned).status_code == 202
    assert Execution.objects.get().version == called.latest_version


# --- what was sent ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "kind", "payload"),
    [
        (b'{"a": [1, null]}', "application/json", {"a": [1, None]}),
        (b'{"a": 1}', "application/vnd.acme+json; charset=utf-8", {"a": 1}),
        (b"[1, 2]", "application/json", {"body": [1, 2]}),
        (b'"text"', "application/json", {"body": "text"}),
        (b"", "application/json", {}),
        (b"  \n", "text/plain", {}),
        (b"a=1&b=2&b=3&c=", "application/x-www-form-urlencoded", {"a": "1", "b": ["2", "3"], "c": ""}),
        (b"payload=%7B%22ref%22%3A1%7D", "application/x-www-form-urlencoded", {"ref": 1}),
        (b"payload=no+json", "application/x-www-form-urlencoded", {"payload": "no json"}),
        ("Grüße".encode(), "text/plain; charset=utf-8", {"body": "Grüße"}),
        (b"<a/>", "application/xml", {"body": "<a/>"}),
        (b'{"a": "\\u0000"}', "application/json", {"a": "\ufffd"}),
        (b'{"\\ud800": ["\\udc00x"]}', "application/json", {"\ufffd": ["\ufffdx"]}),
        (b"a%00=b%00", "application/x-www-form-urlencoded", {"a\ufffd": "b\ufffd"}),
        (b"a\x00b", "text/plain", {"body": "a\ufffdb"}),
    ],
)
def test_json_forms_and_text_become_an_object(
    called: Agent, body: bytes, kind: str, payload: dict[str, Any]
) -> None:
    assert call(make(called), body, content_type=kind).status_code == 202
    assert only().payload == payload


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (b"{", "application/json", "not valid JSON"),
        (b'{"a": NaN}', "application/json", "NaN"),
        (b"[" * 100_000, "application/json", "nested too deeply"),
        (b"[" * 400 + b"]" * 400, "application/json", "nested too deeply"),
        (b"\xff\xfe", "text/plain", "UTF-8"),
        (b"\xff", "application/json", "UTF-8"),
        (b"x", "multipart/form-data; boundary=x", "Forms with files"),
        (b"&".join(b"a=1" for _ in range(2_000)), "application/x-www-form-urlencoded", "form"),
    ],
)
def test_what_cannot_be_read_is_refused_and_noted_without_its_body(
    called: Agent, body: bytes, kind: str, words: str
) -> None:
    answer = call(make(called), body, content_type=kind)
    assert answer.status_code == 400 and words in answer.json()["error"]["message"]
    refused = only()
    assert (refused.state, refused.payload, refused.headers) == ("refused", None, {})
    assert words in refused.error
    assert not Execution.objects.exists()


def test_a_body_that_is_too_large_is_refused_before_it_is_read(called: Agent) -> None:
    shown = make(called, scheme="hmac_sha256")
    answer = call(shown, b"x" * (limits.MAX_HOOK_BYTES + 1))
    assert answer.status_code == 413
    assert not TriggerDelivery.objects.exists()


# --- who may call -------------------------------------------------------------------------------


def test_an_unknown_or_changed_address_is_nothing(called: Agent) -> None:
    shown = make(called)
    fresh = rotate_address(shown.trigger)
    assert call(shown).status_code == 404
    assert call(fresh).status_code == 202
    assert Client().post("/api/hooks/nonsense").status_code == 404
    assert Client().get("/api/hooks/nonsense").status_code == 405


def test_a_switched_off_trigger_looks_like_none_and_its_owner_sees_the_call(called: Agent) -> None:
    shown = make(called, enabled=False)
    unknown = Client().post("/api/hooks/nonsense")
    answer = call(shown)
    assert (answer.status_code, answer.content) == (unknown.status_code, unknown.content)
    assert (only().state, only().payload) == ("refused", None)
    assert "switched off" in only().error
    change(shown.trigger, enabled=True)
    assert call(shown).status_code == 202


def test_triggers_of_a_deactivated_person_are_nothing(called: Agent, ada: User) -> None:
    shown = make(called)
    ada.is_active = False
    ada.save()
    assert call(shown).status_code == 404
    assert not TriggerDelivery.objects.exists()
    stored = TriggerDelivery.objects.create(trigger=shown.trigger, delivery_key="k", due_at=timezone.now())
    start_late()
    stored.refresh_from_db()
    assert (stored.state, stored.execution) == ("failed", None) and "deactivated" in stored.error


def test_a_standard_signature_opens_and_anything_else_does_not(called: Agent) -> None:
    shown = make(called, scheme="standard_webhooks")
    good = standard(shown.secret)
    cut = {"webhook-signature": good["webhook-signature"][:-8]}
    for headers in (
        {},
        good | cut,
        good | {"webhook-signature": "nonsense"},
        good | {"webhook-signature": "v1,é"},
        good | {"webhook-id": "msg_2"},
        standard("whsec_" + "A" * 44),
        standard(shown.secret, age=302),
        standard(shown.secret, age=-400),  # some of it passes while the others are tried
        standard(shown.secret, {"order": 8}),
    ):
        answer = call(shown, headers=headers)
        assert answer.status_code == 401, headers
        assert answer.json()["error"]["code"] == "wrong_signature"
    assert not Execution.objects.exists()
    assert set(TriggerDelivery.objects.values_list("state", flat=True)) == {"refused"}
    assert not TriggerDelivery.objects.exclude(payload=None).exists()
    assert call(shown, headers=good).status_code == 202


def test_a_signature_as_github_makes_it_opens_and_anything_else_does_not(called: Agent) -> None:
    shown = make(called, scheme="hmac_sha256", secret="a secret of my own choice")
    good = github("a secret of my own choice")
    for headers in (
        {},
        github("another secret, just as long"),
        {"X-Hub-Signature-256": good["X-Hub-Signature-256"].removeprefix("sha256=")},
        {"X-Hub-Signature-256": good["X-Hub-Signature-256"][:-1]},
        {"X-Hub-Signature-256": "sha256=é"},
        github("a secret of my own choice", {"order": 8}),
    ):
        assert call(shown, headers=headers).status_code == 401, headers
    assert call(shown, headers=good).status_code == 202
    assert call(shown, b"\xff", github("a secret of my own choice", b"\xff")).status_code == 400


def test_the_signature_of_one_trigger_is_worth_nothing_for_another(called: Agent) -> None:
    one, other = make(called, scheme="standard_webhooks"), make(called, scheme="standard_webhooks")
    assert call(other, headers=standard(one.secret)).status_code == 401


def test_an_old_secret_counts_during_the_grace_and_not_after_it(called: Agent) -> None:
    old = make(called, scheme="standard_webhooks")
    new = rotate_secret(old.trigger, grace_seconds=60)
    assert call(old, headers=standard(old.secret, call_id="a")).status_code == 202
    assert call(old, headers=standard(new.secret, call_id="b")).status_code == 202
    Trigger.objects.update(old_secret_until=timezone.now() - timedelta(seconds=1))
    assert call(old, headers=standard(old.secret, call_id="c")).status_code == 401
    assert call(old, headers=standard(new.secret, call_id="d")).status_code == 202


def test_a_secret_no_key_opens_refuses_and_says_so_to_the_owner(called: Agent, settings: Settings) -> None:
    shown = make(called, scheme="hmac_sha256")
    settings.ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    assert call(shown, headers=github(shown.secret)).status_code == 401
    assert "ENCRYPTION_KEYS" in only().error


# --- once ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["webhook-id", "X-GitHub-Delivery", "Idempotency-Key", "svix-id"])
def test_a_call_that_came_before_is_the_same_delivery_and_execution(called: Agent, name: str) -> None:
    shown = make(called)
    first = call(shown, headers={name: "1"})
    again = call(shown, {"order": 8}, headers={name: "1"})
    assert (again.status_code, again.json()) == (200, first.json())
    assert call(shown, headers={name: "2"}).status_code == 202
    assert call(make(called), headers={name: "1"}).status_code == 202, "ids belong to a trigger"
    assert Execution.objects.count() == 3


@pytest.mark.parametrize("odd", ["x" * 5_000, "\x7f"])
def test_an_odd_call_id_is_an_id_too(called: Agent, odd: str) -> None:
    shown = make(called)
    assert call(shown, headers={"webhook-id": odd}).status_code == 202
    assert call(shown, headers={"webhook-id": odd}).status_code == 200


def test_calls_without_an_id_are_calls_of_their_own(called: Agent) -> None:
    shown = make(called)
    assert [call(shown).status_code for _ in range(2)] == [202, 202]


def test_a_signed_body_under_another_id_is_the_same_call(called: Agent) -> None:
    """GitHub signs the body alone: whoever overheard a call can write any id beside it."""
    shown = make(called, scheme="hmac_sha256")
    body = b'{"order": 7}'
    headers = github(shown.secret, body)
    first = call(shown, body, headers | {"X-GitHub-Delivery": "one"})
    assert first.status_code == 202
    for other in ({"X-GitHub-Delivery": "two"}, {"Idempotency-Key": "two"}, {"webhook-id": "two"}, {}):
        again = call(shown, body, headers | other)
        assert (again.status_code, again.json()) == (200, first.json())
    assert call(shown, b'{"order": 8}', github(shown.secret, b'{"order": 8}')).status_code == 202
    assert Execution.objects.count() == 2


def test_a_signed_body_under_the_id_of_another_call_takes_nothing_from_it(called: Agent) -> None:
    shown = make(called, scheme="hmac_sha256")
    for body in (b'{"order": 7}', b'{"order": 8}'):
        headers = github(shown.secret, body) | {"X-GitHub-Delivery": "the same"}
        assert call(shown, body, headers).status_code == 202


def test_a_signed_body_may_be_sent_anew_when_the_window_is_over(
    called: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = make(called, scheme="hmac_sha256")
    body = b'{"tick": true}'
    headers = github(shown.secret, body)
    assert call(shown, body, headers).status_code == 202
    window = timedelta(seconds=limits.HOOK_REPLAY_SECONDS)
    start = timezone.now()
    monkeypatch.setattr(receive, "database_now", lambda: start + window - timedelta(seconds=1))
    assert call(shown, body, headers).status_code == 200
    monkeypatch.setattr(receive, "database_now", lambda: start + window + timedelta(seconds=60))
    assert call(shown, body, headers).status_code == 202
    assert call(shown, body, headers).status_code == 200


def test_a_standard_call_is_known_by_its_signed_id_alone(called: Agent) -> None:
    shown = make(called, scheme="standard_webhooks")
    body = b'{"order": 7}'
    signed = standard(shown.secret, body)
    first = call(shown, body, signed)
    again = call(
        shown, body, signed | {"Idempotency-Key": "two", "svix-id": "two", "X-GitHub-Delivery": "two"}
    )
    assert (first.status_code, again.status_code) == (202, 200)
    forged = {name: "another" if name.lower() == "webhook-id" else value for name, value in signed.items()}
    assert call(shown, body, forged).status_code == 401
    assert Execution.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_the_same_call_many_times_at_once_one_starts(called: Agent) -> None:
    shown = make(called)
    answers = race(lambda: call(shown, headers={"webhook-id": "1"}), 6)
    assert sorted(answer.status_code for answer in answers) == [200] * 5 + [202]
    execution = Execution.objects.get()
    assert only().execution == execution
    race(lambda: start_delivery(only().pk), 4)
    assert Execution.objects.count() == 1


# --- what is ours to put right ------------------------------------------------------------------


def test_a_call_whose_start_was_lost_is_picked_up(called: Agent) -> None:
    def away(execute: Any, sql: str, *rest: Any) -> Any:
        if sql.startswith('INSERT INTO "executions_execution"'):
            raise OperationalError("the database went away")
        return execute(sql, *rest)

    shown = make(called)
    with connection.execute_wrapper(away):
        answer = call(shown)
    assert (answer.status_code, answer.json()["state"]) == (202, "stored")
    assert start_late() == 0, "its own process still has its time"
    TriggerDelivery.objects.update(due_at=timezone.now())
    swept.send(sender=None, queues={"turns"})
    assert only().state == "stored"
    swept.send(sender=None, queues={"executions"})
    assert only().state == "started" and only().execution is not None
    assert start_late() == 0 and Execution.objects.count() == 1


def test_an_agent_that_cannot_run_fails_the_call_with_the_reason(greeter: Agent) -> None:
    shown = make(greeter)
    greeter.versions.update(input_schema={"properties": {"age": {}}, "required": ["age"]})
    answer = call(shown)
    assert (answer.status_code, answer.json()["state"]) == (202, "failed")
    assert "required" in only().error
    Agent.objects.update(deleted_at=timezone.now())
    call(shown)
    assert "was deleted" in TriggerDelivery.objects.latest("received_at").error


def test_over_a_limit_it_waits_and_is_tried_again(called: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("executions.limits.MAX_LIVE_EXECUTIONS_PER_USER", 0)
    assert call(make(called)).json()["state"] == "stored"
    delivery = only()
    assert "too many" in delivery.error and delivery.due_at is not None
    assert delivery.due_at > timezone.now()
    monkeypatch.setattr("executions.limits.MAX_LIVE_EXECUTIONS_PER_USER", 5)
    TriggerDelivery.objects.update(due_at=timezone.now())
    start_late()
    assert (only().state, only().tries, only().error) == ("started", 2, "")


def test_what_nobody_foresaw_is_tried_some_times_and_then_left(
    greeter: Agent, caplog: pytest.LogCaptureFixture
) -> None:
    shown = make(greeter)
    greeter.versions.update(input_schema=7)
    call(shown)
    for _ in range(limits.HOOK_TRIES):
        TriggerDelivery.objects.update(due_at=timezone.now())
        start_late()
    assert (only().state, only().tries) == ("failed", limits.HOOK_TRIES)
    assert "error on our side" in only().error and "could not be started" in caplog.text


def test_an_address_called_too_often_says_when_to_come_back(
    called: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("executions.limits.HOOK_CALLS_PER_MINUTE", 2)
    monkeypatch.setattr("durable.rate_limit.time.time", lambda: 1_000_000_000.0)
    shown = make(called)
    assert [call(shown).status_code for _ in range(3)] == [202, 202, 429]
    assert int(call(shown)["Retry-After"]) > 0
    assert call(make(called)).status_code == 202, "another trigger has room of its own"
    assert rate_limit.seconds_to_wait("hook-of-nobody", most=1) == 0


def test_a_flood_of_refused_calls_is_no_flood_of_rows(called: Agent) -> None:
    shown = make(called, scheme="hmac_sha256")
    for _ in range(limits.HOOK_REFUSALS_PER_MINUTE + 5):
        assert call(shown).status_code == 401
    assert TriggerDelivery.objects.count() <= 2 * limits.HOOK_REFUSALS_PER_MINUTE


def test_the_log_is_cut_after_a_while_but_never_what_is_still_to_do(called: Agent) -> None:
    shown = make(called)
    for _ in range(3):
        call(shown)
    old, waiting, fresh = TriggerDelivery.objects.order_by("received_at")
    long_ago = timezone.now() - timedelta(seconds=limits.HOOK_LOG_SECONDS + 60)
    TriggerDelivery.objects.filter(pk__in=[old.pk, waiting.pk]).update(received_at=long_ago)
    TriggerDelivery.objects.filter(pk=waiting.pk).update(state="stored")
    assert forget_old() == 1
    assert set(TriggerDelivery.objects.values_list("pk", flat=True)) == {waiting.pk, fresh.pk}
    assert Execution.objects.count() == 3


def test_a_call_needs_no_csrf_token_and_a_login_means_nothing(called: Agent, as_ada: Client) -> None:
    path = make(called).url.partition("/api/")[2]
    assert as_ada.post(f"/api/{path}", {"a": 1}, content_type="application/json").status_code == 202


def test_the_address_itself_is_neither_stored_nor_logged(
    called: Agent, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level("DEBUG")
    shown: TriggerSecrets = make(called, scheme="standard_webhooks")
    token = shown.url.rpartition("/")[2]
    assert call(shown).status_code == 401
    assert call(shown, headers=standard(shown.secret)).status_code == 202
    change(shown.trigger, enabled=False)
    assert call(shown).status_code == 404
    assert token not in caplog.text + "".join(capsys.readouterr())
    row = Trigger.objects.values().get()
    assert token not in str(row) and shown.secret not in str(row)
    assert row["token_hint"] == token[:6]


def test_a_late_call_that_cannot_even_be_noted_keeps_no_other_one_waiting_and_ends_as_failed(
    called: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = make(called)
    now = timezone.now()
    bad = TriggerDelivery.objects.create(trigger=shown.trigger, delivery_key="bad", payload={}, due_at=now)
    good = TriggerDelivery.objects.create(trigger=shown.trigger, delivery_key="good", payload={}, due_at=now)
    save = TriggerDelivery.save

    def refuse(self: TriggerDelivery, **options: Any) -> None:
        if self.pk == bad.pk:
            raise DataError("unsupported Unicode escape sequence")
        save(self, **options)

    monkeypatch.setattr(TriggerDelivery, "save", refuse)
    start_late()
    good.refresh_from_db()
    bad.refresh_from_db()
    assert (good.state, bad.state, bad.tries) == ("started", "stored", 1)
    for _ in range(limits.HOOK_TRIES):
        TriggerDelivery.objects.update(due_at=timezone.now())
        start_late()
    bad.refresh_from_db()
    assert bad.state == "failed" and "error on our side" in bad.error
    assert Execution.objects.count() == 1
