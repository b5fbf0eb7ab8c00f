"""Models picked for a conversation, a message, a person: what is offered, what is refused, who answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import transaction
from pytest_django import Settings
from rest_framework.test import APIClient

from accounts.models import User
from chat import continuations, titles, turns
from chat.models import Session, Turn
from durable import event_log
from durable.event_log import START
from durable.redis import client as redis
from durable.redis import key
from durable.signals import swept
from llm import model_lists
from llm.endpoint_rows import refresh
from llm.endpoints import endpoints
from llm.models import ModelEndpoint
from tests.chat.engine.conftest import run_turn
from tests.harness import eventually
from tests.llm.dialect_servers import KEY, Anthropic, Chat, Fault, ModelServer, Script, running

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def small() -> Iterator[ModelServer]:
    with running(Chat()) as server:
        server.play(Script(text=("from small",), usage={"fresh": 40, "cached": 60}))
        yield server


@pytest.fixture
def big() -> Iterator[ModelServer]:
    with running(Anthropic()) as server:
        server.play(Script(text=("from big",)))
        yield server


@pytest.fixture(autouse=True)
def staff(small: ModelServer, big: ModelServer, settings: Settings, redis_server: object) -> Group:
    """Three models: one for everybody, one of a row for everybody, one for the staff."""
    model_lists.forget()
    for name in redis().scan_iter(key("models*")):
        redis().delete(name)
    settings.OPENAI_API_KEY = settings.OPENAI_BASE_URL = settings.COPILOT_TITLE_MODEL = ""
    settings.COPILOT_MODEL = settings.COPILOT_FALLBACK_MODEL = ""
    settings.COPILOT_ENDPOINTS = json.dumps(
        [{"name": "house", "url": small.url, "key": KEY, "models": ["small", "tiny-*"], "window": 9_000}]
    )
    group = Group.objects.create(name="staff")
    row = ModelEndpoint(name="far", url=big.url, dialect="anthropic", model_names=["big"], vision=True)
    row.set_key(KEY)
    row.save()
    row.groups.add(group)
    row = ModelEndpoint(name="more", url=small.url, model_names=["other"])
    row.set_key(KEY)
    row.save()
    return group


@pytest.fixture
def ann(staff: Group) -> User:
    user = User.objects.create_user("ann")
    user.groups.add(staff)
    return user


@pytest.fixture
def bob() -> User:
    return User.objects.create_user("bob")


def api_of(user: User) -> APIClient:
    client = APIClient()
    client.force_authenticate(user)
    return client


def names(user: User) -> list[str]:
    return [model["name"] for model in api_of(user).get("/api/models").json()["models"]]


def send(user: User, session_id: str, **body: Any) -> Turn:
    answer = api_of(user).post(f"/api/sessions/{session_id}/turns", {"message": "hi"} | body, format="json")
    assert answer.status_code == 202, answer.content
    turn = Turn.objects.get(pk=answer.json()["turn"]["id"])
    run_turn(turn)
    return turn


def new_session(user: User, **body: Any) -> str:
    answer = api_of(user).post("/api/sessions", body, format="json")
    assert answer.status_code == 201, answer.content
    return str(answer.json()["id"])


# --- what is offered --------------------------------------------------------------------------------


def test_each_person_is_offered_what_their_groups_may_use(ann: User, bob: User) -> None:
    assert names(ann) == ["house/small", "far/big", "more/other"]
    assert names(bob) == ["house/small", "more/other"]
    found = api_of(ann).get("/api/models").json()
    assert found["default"] == "house/small"
    assert found["models"][0] == {
        "name": "house/small",
        "label": "small",
        "endpoint": "house",
        "context_tokens": 9_000,
        "sees_images": False,
    }
    assert found["models"][1]["sees_images"] is True


def test_one_model_alone_is_the_only_offer(bob: User, settings: Settings, small: ModelServer) -> None:
    ModelEndpoint.objects.all().delete()
    refresh()
    settings.COPILOT_ENDPOINTS, settings.OPENAI_BASE_URL = "", small.url
    assert names(bob) == [""], "the server decides which"
    settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY = "", "k"
    assert names(bob) == ["gpt-6.1-sol"]
    settings.COPILOT_MODEL = "gpt-5"
    assert names(bob) == ["gpt-5"]
    settings.ANTHROPIC_API_KEY = "k"
    assert names(bob) == ["gpt-5", "claude-sonnet-5-5"]


@pytest.mark.parametrize("name", ["far/big", "big", "house/unheard-of", "nowhere/x", "gpt-4o", "x" * 129])
def test_what_a_person_may_not_use_is_refused_like_what_does_not_exist(bob: User, name: str) -> None:
    api, session = api_of(bob), new_session(bob)
    told = [
        api.post("/api/sessions", {"model": name}, format="json"),
        api.patch(f"/api/sessions/{session}", {"model": name}, format="json"),
        api.post(f"/api/sessions/{session}/turns", {"message": "hi", "model": name}, format="json"),
        api.patch("/api/me", {"model": name}, format="json"),
        api.post("/api/chat", {"id": session, "message": "hi", "model": name}, format="json"),
        api.post("/api/chat", {"id": session, "trigger": "regenerate-message", "model": name}, format="json"),
    ]
    assert [answer.status_code for answer in told] == [400] * 6
    said = [answer.json()["error"]["fields"]["model"] for answer in told]
    if len(name) < 100:  # the longer one is no name at all
        assert all("pick one of: house/small, more/other." in text for (text,) in said), said
    assert not Turn.objects.exists()


# --- who answers ------------------------------------------------------------------------------------


def test_a_message_is_answered_by_the_model_picked_for_it_alone(ann: User, big: ModelServer) -> None:
    session = new_session(ann)
    turn = send(ann, session, model="big")
    assert (turn.asked_model, turn.model_name, turn.steps.get().text) == ("far/big", "far/big", "from big")
    assert big.asked[0].body["model"] == "big"
    assert send(ann, session).model_name == "house/small"
    assert send(ann, session, model="tiny-3b").model_name == "house/tiny-3b", "a pattern of the endpoint"


def test_the_models_of_message_conversation_person_and_site_count_in_this_order(ann: User) -> None:
    session = new_session(ann)
    assert send(ann, session).model_name == "house/small"
    assert api_of(ann).patch("/api/me", {"model": "other"}, format="json").json()["model"] == "more/other"
    assert api_of(ann).get("/api/models").json()["default"] == "more/other"
    assert send(ann, session).model_name == "more/other"
    shown = api_of(ann).patch(f"/api/sessions/{session}", {"model": "big"}, format="json").json()
    assert shown["model"] == "far/big"
    assert send(ann, session).model_name == "far/big"
    assert send(ann, session, model="small").model_name == "house/small"
    assert api_of(ann).patch(f"/api/sessions/{session}", {"model": None}, format="json").json()["model"] == ""
    assert send(ann, session).model_name == "more/other"
    assert new_session(ann, model="big") and Session.objects.get(model="far/big")


def test_a_pick_that_is_no_longer_open_gives_way_to_the_default(ann: User, staff: Group) -> None:
    session = new_session(ann, model="far/big")
    assert send(ann, session).model_name == "far/big"
    ann.groups.remove(staff)
    assert send(ann, session).model_name == "house/small"
    ann.groups.add(staff)
    ModelEndpoint.objects.filter(name="far").delete()
    refresh()
    assert send(ann, session).model_name == "house/small"


def queued(user: User, **body: Any) -> Turn:
    answer = api_of(user).post(
        f"/api/sessions/{new_session(user)}/turns", {"message": "hi"} | body, format="json"
    )
    return Turn.objects.get(pk=answer.json()["turn"]["id"])


def test_a_queued_turn_whose_endpoint_has_gone_is_answered_by_the_default_and_says_so(ann: User) -> None:
    api_of(ann).patch("/api/me", {"model": "other"}, format="json")
    turn = queued(ann, model="big")
    ModelEndpoint.objects.filter(name="far").delete()
    run_turn(turn)
    assert (turn.end_reason, turn.asked_model, turn.model_name) == ("done", "far/big", "more/other")
    assert notes_of(turn) == ["far/big is not available any more; more/other answers."]


def notes_of(turn: Turn) -> list[str]:
    """What readers of a turn were told beside its answer."""
    entries = [json.loads(entry.body) for entry in event_log.tail(turn.pk, START)]
    return [entry["data"]["message"] for entry in entries if entry["type"] == "data-status"]


def test_a_queued_turn_of_somebody_who_left_the_group_is_not_answered_by_its_model(
    ann: User, staff: Group, big: ModelServer, settings: Settings
) -> None:
    turn = queued(ann, model="big")
    ann.groups.remove(staff)
    run_turn(turn)
    assert (turn.end_reason, turn.model_name, big.asked) == ("done", "house/small", [])
    ann.groups.add(staff)
    turn = queued(ann, model="big")
    ann.groups.remove(staff)
    settings.COPILOT_MODEL, settings.COPILOT_ENDPOINTS = "far/big", ""
    ModelEndpoint.objects.filter(name="more").delete()
    run_turn(turn)
    assert (turn.end_reason, big.asked) == ("model_error", [])
    assert "No model is open to you" in turn.error


def test_the_fallback_chain_leaves_out_what_is_closed_to_a_person(
    ann: User, bob: User, small: ModelServer, big: ModelServer, settings: Settings
) -> None:
    settings.COPILOT_FALLBACK_MODEL = "far/big, more/other"
    small.faults = [Fault(status=429, headers={"retry-after": "60"})]
    assert send(ann, new_session(ann)).model_name == "far/big"
    small.faults = [Fault(status=429, headers={"retry-after": "60"})]
    assert send(bob, new_session(bob)).model_name == "more/other"
    assert len(big.asked) == 1


def test_titles_are_not_made_by_a_model_that_is_closed_to_the_person(
    bob: User, big: ModelServer, settings: Settings
) -> None:
    settings.COPILOT_TITLE_MODEL = "far/big"
    session = Session.objects.get(pk=new_session(bob))
    send(bob, str(session.pk))
    titles.make_title(session.pk)
    session.refresh_from_db()
    assert session.title == "from small" and big.asked == []


def test_models_that_fit_a_pattern_are_listed_once_a_worker_has_asked_the_server(
    ann: User, bob: User, settings: Settings, small: ModelServer
) -> None:
    pattern = {"name": "house", "url": small.url, "key": KEY, "models": ["small", "first*", "embed*"]}
    settings.COPILOT_ENDPOINTS = json.dumps([pattern])
    asked_before = [asked.path for asked in small.asked]
    assert names(bob) == ["house/small", "more/other"] and [a.path for a in small.asked] == asked_before
    swept.send(sender=None, queues=(), idle_models=())
    listed = ["house/small", "house/first-model", "more/other"]
    eventually(lambda: names(bob) == listed, what="the list")
    swept.send(sender=None, queues=(), idle_models=())
    assert [asked.path for asked in small.asked].count("/v1/models") == 1, "once in ten minutes, not per look"
    assert send(bob, new_session(bob), model="first-model").model_name == "house/first-model"


def test_a_server_that_does_not_list_its_models_changes_nothing(bob: User, settings: Settings) -> None:
    dead = {"name": "dead", "url": "http://127.0.0.1:9/v1", "models": ["m", "any-*"]}
    settings.COPILOT_ENDPOINTS = json.dumps([dead])
    swept.send(sender=None, queues=(), idle_models=())
    found = model_lists._turn_key(model_lists._place(endpoints()[0]))
    eventually(lambda: 0 < int(redis().ttl(found)) <= 60, what="an earlier second try")
    assert names(bob) == ["dead/m", "more/other"]


def test_a_default_that_is_for_a_group_is_not_given_to_others(
    ann: User, bob: User, settings: Settings, small: ModelServer
) -> None:
    settings.COPILOT_MODEL = "far/big"
    assert send(ann, new_session(ann)).model_name == "far/big"
    assert send(bob, new_session(bob)).model_name == "house/small"
    settings.COPILOT_ENDPOINTS = ""
    ModelEndpoint.objects.filter(name="more").delete()
    refresh()
    answer = api_of(bob).post(f"/api/sessions/{new_session(bob)}/turns", {"message": "hi"}, format="json")
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "no_model")


def test_ai_sdk_clients_pick_with_their_body_and_a_new_session_keeps_it(ann: User) -> None:
    key = "my-chat"
    api_of(ann).post("/api/chat", {"id": key, "message": "hi", "model": "big"}, format="json")
    session = Session.objects.get(client_key=key)
    assert (session.model, session.turns.get().asked_model) == ("far/big", "far/big")


def test_a_continuation_is_answered_by_the_model_of_the_turn_that_started_the_work(ann: User) -> None:
    session_id = new_session(ann)
    turn = send(ann, session_id, model="big")
    send(ann, session_id)
    session = Session.objects.get(pk=session_id)
    with transaction.atomic():
        continuations.queue_turn(session.pk, client_id="operation:1", note="It is done.")
        continuations.queue_turn(session.pk, client_id="operation:2", note="It is done.", started_by=turn.pk)
    queued = session.turns.filter(kind=Turn.Kind.CONTINUATION).order_by("queued_at")
    assert [again.asked_model for again in queued] == ["", "far/big"]


# --- several answers --------------------------------------------------------------------------------


def test_both_answers_stay_when_another_model_answers_again(ann: User) -> None:
    session_id, api = new_session(ann), api_of(ann)
    first = send(ann, session_id)
    body = {"id": session_id, "trigger": "regenerate-message", "model": "far/big"}
    api.post("/api/chat", body, format="json")
    second = Turn.objects.exclude(pk=first.pk).get()
    run_turn(second)
    messages = api.get(f"/api/sessions/{session_id}").json()["messages"]
    assert [message["content"] for message in messages] == ["hi", "from big"]
    versions = messages[1]["versions"]
    assert [(version["turn_id"], version["model"]) for version in versions] == [
        (str(first.pk), "house/small"),
        (str(second.pk), "far/big"),
    ]
    old = api.get(f"/api/turns/{first.pk}/message").json()
    assert (old["content"], old["metadata"]["model"]) == ("from small", "house/small")
    assert api_of(User.objects.create_user("eve")).get(f"/api/turns/{first.pk}/message").status_code == 404
    turns.regenerate(Session.objects.get(pk=session_id), edited=turns.Input(text="something else"))
    run_turn(Turn.objects.order_by("-queued_at")[0])
    messages = api.get(f"/api/sessions/{session_id}").json()["messages"]
    assert "versions" not in messages[1], "they answered another message"


def test_model_cost_and_cached_tokens_are_told_with_each_answer(ann: User, settings: Settings) -> None:
    session_id = new_session(ann)
    send(ann, session_id)
    metadata = api_of(ann).get(f"/api/sessions/{session_id}").json()["messages"][1]["metadata"]
    assert metadata["model"] == "house/small"
    assert metadata["usage"] == {
        "input_tokens": 100,
        "output_tokens": 5,
        "cached_tokens": 60,
        "cost": "0.000000",
    }
