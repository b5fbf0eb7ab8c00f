"""The platform's model, asked over HTTP from the offline model server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import Group

from accounts.models import User
from blocks.adapters.model import PlatformModel, is_served, serves
from blocks.errors import BlockFailed
from blocks.registry import get_registry
from blocks.run import run_block
from llm.endpoint import Endpoint
from tests.blocks.doubles import make_context, make_ports
from tests.offline_server import OfflineServer


@pytest.fixture
def server(settings: Any) -> Iterator[OfflineServer]:
    with OfflineServer() as running:
        settings.OPENAI_API_KEY = "sk-test-canary"
        settings.OPENAI_BASE_URL = running.url
        settings.COPILOT_MODEL = "offline"
        settings.COPILOT_TITLE_MODEL = ""
        settings.COPILOT_FALLBACK_MODEL = ""
        yield running


def ask(**inputs: Any) -> list[tuple[str, Any]]:
    context = make_context(ports=replace(make_ports(), model=PlatformModel()))
    return list(
        run_block(get_registry().get_by_name("AI Text Generator"), {"prompt": "Hi", **inputs}, context)
    )


@pytest.mark.parametrize(
    "name",
    ["", "gpt-4o", "claude-sonnet-4", "llama-3.1-70b", "perplexity/sonar-pro", "no such model", "offline"],
)
def test_any_model_name_of_an_agent_is_answered(server: OfflineServer, name: str) -> None:
    server.play({"steps": [{"text": "Hello!"}]})
    assert ask(model=name)[0] == ("response", "Hello!")
    assert [request.model for request in server.requests] == ["offline"]


def test_a_model_that_is_refused_fails_with_the_operators_sentence(server: OfflineServer) -> None:
    server.play({"steps": [{"fault": {"status": 401, "times": None}}]})
    with pytest.raises(BlockFailed, match="OPENAI_API_KEY") as caught:
        ask()
    assert "canary" not in str(caught.value)


def test_without_a_model_it_says_what_to_set(settings: Any) -> None:
    settings.OPENAI_API_KEY = settings.OPENAI_BASE_URL = ""
    with pytest.raises(BlockFailed, match="No model is configured"):
        ask()


def test_names_are_kept_where_the_endpoint_serves_them(settings: Any) -> None:
    settings.COPILOT_MODEL = "local-model"
    settings.OPENAI_BASE_URL = "http://localhost:1/v1"
    openai = Endpoint(base_url="https://api.openai.com/v1", api_key="k")
    router = Endpoint(base_url="https://openrouter.ai/api/v1", api_key="k")
    local = Endpoint(base_url="http://localhost:1/v1", api_key="k")
    assert [serves(openai, name) for name in ("gpt-4o", "o3-mini", "claude-sonnet-4", "")] == [
        True,
        True,
        False,
        False,
    ]
    assert [serves(router, name) for name in ("perplexity/sonar", "gpt-4o")] == [True, False]
    assert [serves(local, name) for name in ("local-model", "gpt-4o")] == [True, False]


def test_a_model_of_another_endpoint_is_asked_for(server: OfflineServer, settings: Any) -> None:
    settings.COPILOT_ENDPOINTS = f'[{{"name": "second", "url": "{server.url}", "models": ["own-*"]}}]'
    assert [is_served(name) for name in ("own-7b", "second/any", "offline", "gpt-4o", "")] == [
        *(True, True, True, False, False)
    ]
    server.play({"steps": [{"text": "Hello!"}]})
    assert ask(model="own-7b")[0] == ("response", "Hello!")
    assert [request.model for request in server.requests] == ["own-7b"]


@pytest.mark.django_db
def test_an_agent_uses_the_models_that_its_owner_may_use(server: OfflineServer, settings: Any) -> None:
    owner, group = User.objects.create_user("ann"), Group.objects.create(name="staff")
    rows = [
        {"name": "open", "url": server.url, "models": ["a"]},
        {"name": "closed", "url": server.url, "models": ["b"], "groups": ["staff"]},
    ]
    settings.COPILOT_ENDPOINTS = json.dumps(rows)
    server.play({"steps": [{"text": "Hello!"}]})

    def asked_for(name: str) -> str:
        ports = replace(make_ports(), model=PlatformModel())
        context = replace(make_context(ports=ports), user_id=str(owner.pk))
        block = get_registry().get_by_name("AI Text Generator")
        (response, *_) = run_block(block, {"prompt": "Hi", "model": name}, context)
        assert response == ("response", "Hello!")
        return server.requests[-1].model

    assert [asked_for(name) for name in ("open/a", "a", "closed/b", "b")] == ["a", "a", "offline", "offline"]
    settings.COPILOT_MODEL = "closed/b"
    assert asked_for("") == "a", "the first model that the owner may use"
    owner.groups.add(group)
    assert [asked_for(name) for name in ("closed/b", "")] == ["b", "b"]
