"""Which model server a name means, and what becomes of an answer when one of several dies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

import llm
from copilot_project.ops.checks import parts
from llm import BadModelRequest, ModelCut, StreamReset, Usage
from llm.endpoint import Endpoint, origin_of
from llm.endpoints import endpoints, locate
from tests.llm.conftest import Asked
from tests.llm.dialect_servers import KEY, Anthropic, Chat, Fault, ModelServer, Responses, Script, running

HELLO = Script(text=("one ", "two ", "three ", "four"))
TEXT = "one two three four"
SECRET = "sk-never-shown-0123456789"


@pytest.fixture(autouse=True)
def nothing_set(settings: Settings) -> None:
    settings.OPENAI_API_KEY = settings.OPENAI_BASE_URL = ""
    settings.ANTHROPIC_API_KEY = settings.ANTHROPIC_BASE_URL = ""
    settings.COPILOT_MODEL = settings.COPILOT_TITLE_MODEL = settings.COPILOT_FALLBACK_MODEL = ""
    settings.COPILOT_ENDPOINTS = ""
    settings.OPENAI_DIALECT = "chat"


@pytest.fixture
def servers() -> Iterator[dict[str, ModelServer]]:
    with running(Chat()) as chat, running(Anthropic()) as anthropic, running(Responses()) as responses:
        yield {"chat": chat, "anthropic": anthropic, "responses": responses}


def listed(servers: dict[str, ModelServer], **more: Any) -> str:
    rows = [
        {"name": f"my-{name}", "url": server.url, "key": KEY, "dialect": name, "models": [f"model-of-{name}"]}
        | more
        for name, server in servers.items()
    ]
    return json.dumps(rows)


def test_anthropics_key_alone_is_enough(settings: Settings) -> None:
    settings.ANTHROPIC_API_KEY = KEY
    endpoint = locate(llm.default_model()).endpoint
    assert (endpoint.base_url, endpoint.dialect) == ("https://api.anthropic.com/v1", "anthropic")
    assert llm.default_model().startswith("claude-") and llm.model_info(llm.default_model()).sees_images
    assert llm.title_model() != llm.default_model()


@pytest.mark.parametrize("url", ["http://proxy:4000", "http://proxy:4000/", "http://proxy:4000/v1"])
def test_anthropics_address_is_taken_with_and_without_its_version(settings: Settings, url: str) -> None:
    settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL = KEY, url
    assert locate("x").endpoint.base_url == "http://proxy:4000/v1"


def test_with_both_keys_each_provider_is_asked_for_its_own_models(settings: Settings) -> None:
    settings.OPENAI_API_KEY, settings.ANTHROPIC_API_KEY = "a", "b"
    assert locate("gpt-6.1-sol").endpoint.host == "api.openai.com"
    assert locate("claude-opus-5-5").endpoint.host == "api.anthropic.com"
    settings.OPENAI_BASE_URL = "http://a-proxy-that-has-them-all/v1"
    assert locate("claude-opus-5-5").endpoint.host == "a-proxy-that-has-them-all"


def test_models_are_found_by_endpoint_and_by_name(
    settings: Settings, servers: dict[str, ModelServer]
) -> None:
    settings.COPILOT_ENDPOINTS = listed(servers)
    for name, server in servers.items():
        server.play(HELLO)
        for model in (f"my-{name}/model-of-{name}", f"model-of-{name}", f"my-{name}/anything"):
            answer = Asked(model=model).run()
            assert (answer.text, answer.model) == (TEXT, model)
            assert server.asked[-1].body["model"] == model.removeprefix(f"my-{name}/")
    assert llm.default_model() == "my-chat/model-of-chat"
    assert locate("unheard-of").endpoint.name == "my-chat"
    assert len({origin_of(endpoint, "m") for endpoint in endpoints()}) == 3


def test_a_file_may_hold_the_list_and_its_prices_and_abilities_hold(
    settings: Settings, servers: dict[str, ModelServer], tmp_path: Path
) -> None:
    price = {"input": 1000, "output": 0}
    path = tmp_path / "endpoints.json"
    path.write_text(listed(servers, prices={"model-of": price}, window=12_345, vision=True))
    settings.COPILOT_ENDPOINTS = str(path)
    answer = Asked(model="model-of-anthropic").run()
    assert (answer.usage, answer.cost) == (Usage(input_tokens=10, output_tokens=5), Decimal("0.01"))
    info = llm.model_info("model-of-anthropic")
    assert (info.context_tokens, info.sees_images) == (12_345, True)


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("/nowhere/endpoints.json", "cannot be read"),
        ("[", "is not JSON"),
        ('[{"name": "a"}, 7]', "not a list of objects"),
        ('[{"url": "http://x"}]', "name"),
        ('[{"name": "a/b"}]', "name"),
        ('[{"name": "a", "dialect": "grpc"}]', "dialect"),
        ('[{"name": "a", "url": "ftp://x"}]', "http://"),
        ('[{"name": "a", "apikey": "x"}]', "apikey"),
        ('[{"name": "a", "window": "wide"}]', "cannot be used"),
        ('[{"name": "a", "prices": {"m": {"input": 1}}}]', "cannot be used"),
        ('[{"name": "a"}, {"name": "a"}]', "same name"),
    ],
)
def test_a_setting_that_is_wrong_is_told_without_its_keys(
    settings: Settings, setting: str, words: str
) -> None:
    settings.COPILOT_ENDPOINTS = setting.replace('"name"', f'"key": "{SECRET}", "name"', 1)
    with pytest.raises(BadModelRequest) as caught:
        Asked(model="x").run()
    assert words in caught.value.user_message and SECRET not in str(caught.value)


def test_an_endpoint_that_dies_in_the_middle_of_an_answer_is_replaced_by_the_next(
    settings: Settings, servers: dict[str, ModelServer]
) -> None:
    settings.COPILOT_ENDPOINTS = listed(servers)
    settings.COPILOT_FALLBACK_MODEL = "my-responses/model-of-responses, my-anthropic/model-of-anthropic"
    servers["chat"].faults = [Fault(cut_at=4, times=99)]
    servers["responses"].faults = [Fault(status=503, times=99)]
    for server in servers.values():
        server.play(HELLO)
    asked = Asked(model="model-of-chat")
    answer = asked.run()
    assert (answer.text, asked.shown, answer.model) == (TEXT, TEXT, "my-anthropic/model-of-anthropic")
    assert len(servers["chat"].asked) == 3 and len(servers["responses"].asked) == 1
    assert len(asked.of(StreamReset)) == 3


def test_when_all_of_them_fail_the_error_of_the_first_is_raised(
    settings: Settings, servers: dict[str, ModelServer]
) -> None:
    settings.COPILOT_ENDPOINTS = listed(servers)
    settings.COPILOT_FALLBACK_MODEL = "model-of-anthropic,model-of-responses"
    for server in servers.values():
        server.play(HELLO)
        server.faults = [Fault(cut_at=5, times=99)]
    asked = Asked(model="model-of-chat")
    with pytest.raises(ModelCut):
        asked.run()
    assert [len(server.asked) for server in servers.values()] == [3, 1, 1]


def test_a_carry_goes_back_to_the_endpoint_that_gave_it_alone(
    settings: Settings, servers: dict[str, ModelServer]
) -> None:
    settings.COPILOT_ENDPOINTS = listed(servers)
    origins = {llm.carry_origin(f"my-{name}/m") for name in servers}
    assert len(origins) == 3
    assert llm.carry_origin("my-chat/model-of-chat") == llm.carry_origin("model-of-chat")


# --- doctor ---------------------------------------------------------------------------------------


def test_doctor_says_which_models_were_found(settings: Settings, servers: dict[str, ModelServer]) -> None:
    settings.COPILOT_ENDPOINTS = listed(servers)
    settings.ENV = type(settings.ENV).read({"COPILOT_ENDPOINTS": settings.COPILOT_ENDPOINTS})
    found = parts.model()
    assert found.ok
    assert found.message.count("has embed-x, first-model") == 3


def test_doctor_names_the_endpoint_that_does_not_answer(settings: Settings) -> None:
    rows = [{"name": "gone", "url": "http://127.0.0.1:9/v1", "key": SECRET}]
    settings.COPILOT_ENDPOINTS = json.dumps(rows)
    settings.ENV = type(settings.ENV).read({"COPILOT_ENDPOINTS": settings.COPILOT_ENDPOINTS})
    found = parts.model()
    assert not found.ok and "127.0.0.1:9" in found.message and "gone" in found.hint
    assert SECRET not in found.message + found.hint


def test_doctor_says_what_the_others_have_where_one_is_dead(
    settings: Settings, servers: dict[str, ModelServer]
) -> None:
    rows = [{"name": "gone", "url": "http://127.0.0.1:9/v1"}, *json.loads(listed(servers))]
    settings.COPILOT_ENDPOINTS = json.dumps(rows)
    settings.ENV = type(settings.ENV).read({"COPILOT_ENDPOINTS": settings.COPILOT_ENDPOINTS})
    found = parts.model()
    assert not found.ok and found.message.startswith("gone at http://127.0.0.1:9/v1: ")
    assert found.message.count("has embed-x, first-model") == 3


def test_an_address_is_shown_without_what_is_secret_in_it() -> None:
    endpoint = Endpoint(base_url=f"https://me:{SECRET}@proxy:4000/v1?token={SECRET}", api_key=SECRET)
    assert endpoint.shown_url == "https://proxy:4000/v1"


def test_doctor_tells_a_setting_that_is_wrong(settings: Settings) -> None:
    settings.COPILOT_ENDPOINTS = "[{]"
    settings.ENV = type(settings.ENV).read({"COPILOT_ENDPOINTS": "[{]"})
    assert "COPILOT_ENDPOINTS is not JSON" in parts.model().message
