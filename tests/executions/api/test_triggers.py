"""/api/triggers: making, changing, the log, replays; and what operators see."""

from __future__ import annotations

import base64
import uuid
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from durable.encryption import unseal
from executions.models import Agent, Execution, Trigger, TriggerDelivery
from tests.executions.people import logged_in
from tests.executions.triggers.conftest import call, make

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis_server")]
URL = "/api/triggers"


def post(client: Client, url: str = URL, **body: Any) -> Any:
    return client.post(url, body, content_type="application/json")


def new(client: Client, agent: Agent, **more: Any) -> Any:
    return post(client, **{"name": "Orders", "agent_id": str(agent.pk)} | more)


def test_address_and_secret_are_shown_once(as_ada: Client, called: Agent) -> None:
    answer = new(as_ada, called, scheme="standard_webhooks")
    assert answer.status_code == 201, answer.json()
    assert answer["Cache-Control"] == "no-store"
    made = answer.json()
    token = made["url"].rpartition("/api/hooks/")[2]
    assert len(token) == 43 and made["secret"].startswith("whsec_")
    [shown] = as_ada.get(URL).json()["results"]
    assert shown == as_ada.get(f"{URL}/{made['id']}").json()
    assert token not in str(shown) and "secret" not in shown
    assert shown["url"].endswith(f"/api/hooks/{token[:6]}…")
    assert (shown["scheme"], shown["enabled"], shown["agent_name"]) == ("standard_webhooks", True, "Called")
    assert Client().post(f"/api/hooks/{token}").status_code == 401


def test_a_secret_of_ones_own_is_taken_when_it_is_one(as_ada: Client, called: Agent) -> None:
    own = base64.b64encode(b"x" * 24).decode()
    for scheme, secret in (("hmac_sha256", "chosen by the sender"), ("standard_webhooks", f"whsec_{own}")):
        made = new(as_ada, called, scheme=scheme, secret=secret).json()
        assert made["secret"] == secret
        assert unseal(Trigger.objects.get(pk=made["id"]).secret) == secret
    for scheme, secret, words in (
        ("none", "x" * 20, "has no secret"),
        ("hmac_sha256", "short", "too short"),
        ("standard_webhooks", "whsec_AAAA", "too short"),
        ("standard_webhooks", "whsec_é", "base64"),
    ):
        refused = new(as_ada, called, scheme=scheme, secret=secret)
        assert refused.status_code == 400 and words in refused.json()["error"]["message"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"agent_id": str(uuid.uuid4())}, "agent_id"),
        ({"scheme": "rot13"}, "scheme"),
        ({"name": ""}, "name"),
        ({"inputs": {"nobody": 1}}, "inputs.nobody"),
        ({"version": -1}, "version"),
    ],
)
def test_what_is_wrong_is_said_by_field(
    as_ada: Client, called: Agent, change: dict[str, Any], field: str
) -> None:
    answer = new(as_ada, called, **change)
    assert answer.status_code == 400 and field in answer.json()["error"]["fields"]
    assert not Trigger.objects.exists()


def test_a_node_must_be_a_trigger_block_of_the_agent(as_ada: Client, called: Agent) -> None:
    assert new(as_ada, called, node_id="hook").status_code == 201
    refused = new(as_ada, called, node_id="out")
    assert refused.status_code == 400 and "no trigger block" in refused.json()["error"]["message"]
    missing = new(as_ada, called, version=99)
    assert missing.status_code == 409 and "no version 99" in missing.json()["error"]["message"]


def test_it_is_changed_switched_and_deleted(as_ada: Client, called: Agent) -> None:
    shown = make(called)
    url = f"{URL}/{shown.trigger.pk}"

    def patch(**body: Any) -> Any:
        return as_ada.patch(url, body, content_type="application/json").json()

    assert patch(name="Renamed", enabled=False)["enabled"] is False
    assert call(shown).status_code == 404
    signed = patch(scheme="hmac_sha256", enabled=True)
    assert len(signed["secret"]) == 43 and "…" in signed["url"]
    assert "secret" not in patch(name="Again", scheme="hmac_sha256"), "the same scheme keeps its secret"
    assert call(shown).status_code == 401
    assert patch(secret="another of my own choice")["secret"] == "another of my own choice"
    assert "secret" not in patch(scheme="none")
    assert call(shown).status_code == 202
    assert as_ada.delete(url).status_code == 204
    assert call(shown).status_code == 404


def test_address_and_secret_can_be_changed(as_ada: Client, called: Agent) -> None:
    shown = make(called, scheme="hmac_sha256")
    url = f"{URL}/{shown.trigger.pk}/rotate"
    address = post(as_ada, url, what="address").json()
    assert address["url"] != shown.url and "secret" not in address
    secret = post(as_ada, url, what="secret", grace_seconds=0).json()
    assert secret["secret"] != shown.secret and "…" in secret["url"]
    assert post(as_ada, url, what="everything").status_code == 400
    assert post(as_ada, url, what="secret", grace_seconds=10**9).status_code == 400
    unsigned = post(as_ada, f"{URL}/{make(called).trigger.pk}/rotate", what="secret")
    assert unsigned.status_code == 400 and "not signed" in unsigned.json()["error"]["message"]


def test_there_is_a_last_one_a_person_may_have(
    as_ada: Client, called: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("executions.limits.MAX_TRIGGERS_PER_USER", 1)
    assert new(as_ada, called).status_code == 201
    assert new(as_ada, called).status_code == 409


# --- the log --------------------------------------------------------------------------------------


def test_the_log_shows_each_call_and_replays_it(as_ada: Client, called: Agent) -> None:
    shown = make(called)
    call(shown, {"n": 1}, {"webhook-id": "1"})
    url = f"{URL}/{shown.trigger.pk}/deliveries"
    [first] = as_ada.get(url).json()["results"]
    assert (first["state"], first["payload"], first["delivery_key"]) == ("started", {"n": 1}, "webhook-id:1")
    again = post(as_ada, f"{url}/{first['id']}/replay")
    assert again.status_code == 202
    assert (again.json()["replay_of"], again.json()["payload"]) == (first["id"], {"n": 1})
    assert again.json()["execution_id"] != first["execution_id"]
    assert Execution.objects.count() == 2
    assert [row["id"] for row in as_ada.get(url).json()["results"]] == [again.json()["id"], first["id"]]


def test_a_failed_call_is_replayed_once_its_reason_is_gone(as_ada: Client, called: Agent) -> None:
    shown = make(called)
    Agent.objects.update(deleted_at=timezone.now())
    call(shown)
    failed = TriggerDelivery.objects.get()
    assert failed.state == "failed"
    Agent.objects.update(deleted_at=None)
    again = post(as_ada, f"{URL}/{shown.trigger.pk}/deliveries/{failed.pk}/replay").json()
    assert again["state"] == "started"


def test_what_was_refused_or_is_on_its_way_is_not_replayed(as_ada: Client, called: Agent) -> None:
    shown = make(called, enabled=False)
    call(shown)
    delivery = TriggerDelivery.objects.get()
    url = f"{URL}/{shown.trigger.pk}/deliveries/{delivery.pk}/replay"
    refused = post(as_ada, url)
    assert refused.status_code == 409 and "its data was not stored" in refused.json()["error"]["message"]
    TriggerDelivery.objects.update(state="stored")
    assert "has not been started yet" in post(as_ada, url).json()["error"]["message"]


def test_nobody_else_sees_changes_or_replays(called: Agent, bob: User) -> None:
    shown = make(called)
    call(shown)
    url, delivery = f"{URL}/{shown.trigger.pk}", TriggerDelivery.objects.get()
    stranger = logged_in(bob)
    assert stranger.get(URL).json()["results"] == []
    answers = [stranger.get(url), stranger.delete(url), post(stranger, f"{url}/rotate", what="address")]
    answers.append(stranger.patch(url, {"enabled": False}, content_type="application/json"))
    answers += [
        stranger.get(f"{url}/deliveries"),
        post(stranger, f"{url}/deliveries/{delivery.pk}/replay"),
    ]
    assert {answer.status_code for answer in answers} == {404}
    assert Client().get(URL).status_code in (401, 403)
    assert Execution.objects.count() == 1


def test_a_delivery_of_another_trigger_is_not_found_under_this_one(as_ada: Client, called: Agent) -> None:
    one, other = make(called), make(called)
    call(one)
    delivery = TriggerDelivery.objects.get()
    assert post(as_ada, f"{URL}/{other.trigger.pk}/deliveries/{delivery.pk}/replay").status_code == 404


# --- operators ----------------------------------------------------------------------------------


def test_operators_switch_and_replay_and_see_no_secret(operator: Client, called: Agent) -> None:
    shown = make(called, scheme="none")
    call(shown, {"password": "canary", "order": "shown"})
    delivery, trigger = TriggerDelivery.objects.get(), Trigger.objects.get()
    page = operator.get(f"/admin/executions/triggerdelivery/{delivery.pk}/change/").content.decode()
    assert "shown" in page and "canary" not in page
    page = operator.get(f"/admin/executions/trigger/{trigger.pk}/change/").content.decode()
    assert trigger.token_hash not in page and shown.url not in page
    listing = "/admin/executions/triggerdelivery/"
    act = {"action": "replay", "_selected_action": [str(delivery.pk)]}
    assert "1 replayed" in operator.post(listing, act, follow=True).content.decode()
    assert Execution.objects.count() == 2
    switch = {"action": "switch_off", "_selected_action": [str(trigger.pk)]}
    operator.post("/admin/executions/trigger/", switch, follow=True)
    assert call(shown).status_code == 404
    history = operator.get(f"/admin/executions/trigger/{trigger.pk}/history/").content.decode()
    assert "Switched off." in history
    log = operator.get(f"{listing}{delivery.pk}/history/").content.decode()
    assert "Replayed." in log
