"""Picked models on PostgreSQL and RabbitMQ: all kinds of carries after kill -9, a dying endpoint, the admin while all
runs."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.fork_server import run_command
from tests.harness import SETTLE_SECONDS, START_SECONDS, Client, Stack, eventually, running_stack
from tests.llm.dialect_servers import KEY, PROTOCOLS, Fault, ModelServer, Script, running
from tests.services import broker, prepared
from tests.strict_model import CANARY, StrictModel

__all__ = ["broker", "prepared"]
pytestmark = [pytest.mark.chaos, pytest.mark.services]
CARRIED = ("gemini", "deepseek", "openrouter", "anthropic", "openai")
CALLS = Script(thoughts=("let me see",), redacted=True, calls=(("call_a", "test_pure", ('{"value": "x"}',)),))
ANSWER = Script(thoughts=("so",), text=("From the ", "big one."))
SMALL = Script(text=("From the small one.",), usage={"fresh": 400, "cached": 600, "output": 50})
PRICES = {"small": {"input": 1, "output": 10, "cached": 0.1}}
TEXT_BLOCK = "1f292d4a-41a4-4977-9684-7c8d560b9f91"
MAKE_ADMIN = """
from accounts.models import User
User.objects.filter(username="cay").update(is_staff=True, is_superuser=True)
"""
FORM = {"dialect": "chat", "prices": "{}", "vision": "unknown", "enabled": "on"}


class Gate:
    """Holds the second request of each turn until it is opened, and says which models have got there."""

    def __init__(self) -> None:
        self.waiting: set[str] = set()
        self.opened = threading.Event()

    def hold(self, name: str) -> Callable[[dict[str, Any]], None]:
        def holding(body: dict[str, Any]) -> None:
            said = json.dumps(body.get("messages") or body.get("input"))
            if any(mark in said for mark in ('"role": "tool"', '"tool_result"', '"function_call_output"')):
                self.waiting.add(name or f"strict/{body['model']}")
                self.opened.wait(SETTLE_SECONDS)

        return holding


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, ModelServer]]:
    with ExitStack() as stack:
        yield {name: stack.enter_context(running(protocol())) for name, protocol in PROTOCOLS.items()}


@pytest.fixture(scope="module")
def strict() -> Iterator[StrictModel]:
    with StrictModel() as server:
        yield server


@pytest.fixture(scope="module")
def stack(
    short_tmp: Path,
    prepared: tuple[str, dict[str, str]],
    broker: str,
    strict: StrictModel,
    servers: dict[str, ModelServer],
) -> Iterator[Stack]:
    """One web process; the small model is the default, the fallback, and makes titles. The test starts the workers."""
    strict_models = {"name": "strict", "url": strict.url, "models": list(CARRIED)}
    endpoints = [strict_models] + [
        {"name": name, "url": server.url, "key": KEY, "dialect": name, "models": ["big"]}
        for name, server in servers.items()
        if name != "chat"
    ]
    small = {"name": "house", "url": servers["chat"].url, "key": KEY, "models": ["small"], "prices": PRICES}
    env = {
        "COPILOT_ENDPOINTS": json.dumps([*endpoints, small]),
        "COPILOT_MODEL": "house/small",
        "COPILOT_TITLE_MODEL": "house/small",
        "COPILOT_FALLBACK_MODEL": "house/small",
        "OPENAI_BASE_URL": "",
        "OPENAI_API_KEY": "",
    }
    servers["chat"].play(SMALL)
    for name in ("anthropic", "responses"):
        servers[name].play(CALLS, ANSWER)
    url, keys = prepared
    options: dict[str, Any] = {"database_url": url, "keys": keys, "broker_url": broker, "env": env}
    with running_stack(short_tmp / "models-pg", workers=0, **options) as running_one:
        yield running_one


def test_models_of_every_kind_on_the_production_ground(
    stack: Stack, strict: StrictModel, servers: dict[str, ModelServer]
) -> None:
    sent = kill_between_the_steps(stack, strict, servers)
    with stack.worker(2):
        for name, (client, turn) in sent.items():
            ended = client.wait(turn)
            assert (ended["end_reason"], ended["attempt"], ended["model"]) == ("done", 2, name), ended
        assert strict.refusals == [] and [server.refusals for server in servers.values()] == [[], [], []]
        back = {
            body["model"] for body in strict.bodies if CANARY in str(body) or "reasoning_content" in str(body)
        }
        assert back == set(CARRIED), "each got back what it gave"
        an_endpoint_dies_in_the_middle_of_an_answer(stack, servers)
        answers_have_versions_and_costs(stack)
        a_block_picks_its_model(stack, servers)
        the_admin_adds_and_changes_an_endpoint(stack, servers["chat"])


def kill_between_the_steps(
    stack: Stack, strict: StrictModel, servers: dict[str, ModelServer]
) -> dict[str, tuple[Client, str]]:
    """Every kind of model has answered once, its tools have run, and its worker dies before the second answer."""
    gate = Gate()
    strict.hold = gate.hold("")
    for name in ("anthropic", "responses"):
        servers[name].check = gate.hold(f"{name}/big")
    names = [*(f"strict/{kind}" for kind in CARRIED), "anthropic/big", "responses/big"]
    people = [stack.client("ann"), stack.client("bob")]  # each may have five turns at once
    sent: dict[str, tuple[Client, str]] = {}
    with stack.worker(1):
        for number, name in enumerate(names):
            client = people[number % 2]
            turn = client.send(client.new_session(), "look it up", model=name)
            sent[name] = (client, turn["id"])
        eventually(
            lambda: gate.waiting == set(names), what="second steps", progress=lambda: str(gate.waiting)
        )
        stack.kill("worker1")
        gate.opened.set()
    return sent


def an_endpoint_dies_in_the_middle_of_an_answer(stack: Stack, servers: dict[str, ModelServer]) -> None:
    client = stack.client("ann")
    session = client.new_session(model="anthropic/big")
    servers["anthropic"].faults = [Fault(cut_at=4, times=99)]
    ended = client.wait(client.send(session, "hi")["id"])
    assert (ended["end_reason"], ended["model"]) == ("done", "house/small")
    assert client.session(session)["messages"][-1]["content"] == "From the small one."
    assert "OPAQUE" not in str([asked.body for asked in servers["chat"].asked])
    servers["anthropic"].faults = []


def answers_have_versions_and_costs(stack: Stack) -> None:
    client = stack.client("bob")
    session = client.new_session()
    first = client.wait(client.send(session, "hi")["id"])
    body = {"id": session, "trigger": "regenerate-message", "model": "responses/big"}
    assert client.http.post("/api/chat", json=body).is_success
    versions = eventually(
        lambda: client.session(session)["messages"][-1].get("versions"), what="the second answer"
    )
    assert [version["model"] for version in versions] == ["house/small", "responses/big"]
    shown = client.http.get(f"/api/turns/{first['id']}/message").json()["metadata"]
    usage = shown["usage"]
    assert (shown["model"], usage["cached_tokens"], usage["cost"]) == ("house/small", 600, "0.000960"), shown
    assert client.http.patch("/api/me", json={"model": "responses/big"}).json()["model"] == "responses/big"
    assert client.wait(client.send(client.new_session(), "hi")["id"])["model"] == "responses/big"


def a_block_picks_its_model(stack: Stack, servers: dict[str, ModelServer]) -> None:
    path, asked = f"/api/blocks/{TEXT_BLOCK}/execute", len(servers["responses"].asked)
    inputs = {"prompt": "Hi", "model": "responses/big"}
    answer = stack.client("ann").http.post(path, json={"inputs": inputs}, timeout=SETTLE_SECONDS).json()
    assert answer["outputs"]["response"] == ["From the big one."], answer
    assert len(servers["responses"].asked) == asked + 1


def the_admin_adds_and_changes_an_endpoint(stack: Stack, small: ModelServer) -> None:
    """By the pages of the admin, while web process and worker run: both know it within seconds."""
    admin, client = admin_of(stack), stack.client("ann")
    fields = FORM | {"name": "added", "url": small.url, "key": KEY, "model_names": '["late"]'}
    post(admin, "/admin/llm/modelendpoint/add/", fields)
    ((row, sealed),) = stack.sql("SELECT id, sealed_key FROM llm_modelendpoint")
    assert sealed and KEY not in sealed
    offers = "/api/models"
    eventually(lambda: "added/late" in client.http.get(offers).text, what="the new model")
    assert (
        client.wait(client.send(client.new_session(), "hi", model="added/late")["id"])["model"]
        == "added/late"
    )
    post(admin, f"/admin/llm/modelendpoint/{row}/change/", fields | {"key": "", "model_names": '["later"]'})
    eventually(lambda: "added/later" in client.http.get(offers).text, what="the changed model")
    assert (
        client.wait(client.send(client.new_session(), "hi", model="added/later")["id"])["end_reason"]
        == "done"
    )
    assert {"late", "later"} <= {asked.body["model"] for asked in small.asked}
    assert [asked.headers["authorization"] for asked in small.asked if asked.body["model"] == "later"]


def admin_of(stack: Stack) -> httpx.Client:
    """An administrator's browser, logged in."""
    code, said = run_command(
        ["shell", "--no-imports", "-c", MAKE_ADMIN], environment=stack.environment(), seconds=START_SECONDS
    )
    assert code == 0, said
    browser = httpx.Client(base_url=stack.url(), follow_redirects=True, timeout=SETTLE_SECONDS)
    post(browser, "/login/?next=/admin/", {"username": "cay", "password": "a good password"})
    return browser


def post(browser: httpx.Client, path: str, fields: dict[str, str]) -> None:
    """Fill in a form and send it, as a browser does."""
    page = browser.get(path).text
    found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    assert found is not None, page[:2000]
    answer = browser.post(
        path,
        data=fields | {"csrfmiddlewaretoken": found[1]},
        headers={"Referer": str(browser.base_url), "Origin": str(browser.base_url).rstrip("/")},
    )
    assert answer.is_success and "errorlist" not in answer.text, answer.text[:4000]
