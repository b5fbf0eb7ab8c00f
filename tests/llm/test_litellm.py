"""Against a server of somebody else: a LiteLLM proxy, which translates all three dialects to our offline model."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from pytest_django import Settings

from llm import BadModelRequest, Policy, ReasoningDelta
from tests.harness import free_port
from tests.llm.conftest import Asked
from tests.llm.test_dialects import ADD, answer_message, results, user
from tests.needs import Need
from tests.offline_server import OfflineServer

PROGRAM = os.environ.get("TEST_LITELLM") or shutil.which("litellm") or ""
LITELLM = Need(
    name="LiteLLM",
    get="`pip install 'litellm[proxy]'` in an environment of its own, and TEST_LITELLM = its program `litellm`",
    is_met=lambda: bool(PROGRAM),
    optional_in_ci=True,
)
pytestmark = LITELLM.skip_mark
KEY = "sk-test-of-ratchet-0123456789abcdef"
MODEL = "translated"
START_SECONDS = 90
PATIENT = Policy(idle_seconds=60.0)  # its first answer in each dialect loads a lot of code
SCRIPT = {
    "steps": [
        {
            "reasoning": "hm",
            "text": "Adding.",
            "tool_calls": [
                {"name": "add", "arguments": {"a": 1}, "id": "call_1"},
                {"name": "add", "arguments": {"a": 2}, "id": "call_2"},
            ],
        },
        {"text": "Three."},
    ]
}


@pytest.fixture(scope="module")
def proxy(running_server: OfflineServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a proxy before the offline model."""
    folder = tmp_path_factory.mktemp("litellm")
    backend = {"model": "custom_openai/offline", "api_base": running_server.url, "api_key": "sk-offline"}
    config = {
        "model_list": [{"model_name": MODEL, "litellm_params": backend}],
        "general_settings": {"master_key": KEY},
        "litellm_settings": {"telemetry": False},
    }
    (folder / "config.yaml").write_text(json.dumps(config))  # JSON is YAML
    port = free_port()
    command = [PROGRAM, "--config", "config.yaml", "--host", "127.0.0.1", "--port", str(port)]
    environ = {
        "PATH": os.environ.get("PATH", ""),  # and nothing else: it would take our DATABASE_URL for its own
        "HOME": str(folder),
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_USE_CHAT_COMPLETIONS_URL_FOR_ANTHROPIC_MESSAGES": "True",
    }
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, env=environ, stdout=log, stderr=log)
        try:
            wait_until_ready(f"http://127.0.0.1:{port}", process, folder / "log")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(30)


def wait_until_ready(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if httpx.get(f"{url}/health/liveliness", timeout=2).is_success:
                return
        except httpx.HTTPError:
            time.sleep(0.5)
    pytest.fail(f"LiteLLM did not start: {log.read_text(errors='replace')[-2000:]}")


@pytest.fixture(params=["chat", "anthropic", "responses"])
def dialect(
    request: pytest.FixtureRequest, settings: Settings, proxy: str, running_server: OfflineServer
) -> str:
    running_server.reset()
    name: str = request.param
    settings.OPENAI_API_KEY = settings.OPENAI_BASE_URL = ""
    settings.ANTHROPIC_API_KEY = settings.ANTHROPIC_BASE_URL = ""
    if name == "anthropic":
        settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL = KEY, proxy
    else:
        settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL = KEY, f"{proxy}/v1"
        settings.OPENAI_DIALECT = name
    settings.COPILOT_FALLBACK_MODEL = ""
    return name


def test_a_turn_with_tools_goes_through_the_translation_of_somebody_else(
    dialect: str, running_server: OfflineServer
) -> None:
    messages = [{"role": "system", "content": "Be brief."}, user(f"SCRIPT:\n{json.dumps(SCRIPT)}")]
    asked = Asked(model=MODEL, tools=[ADD], policy=PATIENT)
    asked.request = replace(asked.request, messages=messages)
    first = asked.run()
    assert (first.text, first.reasoning, first.finish_reason) == ("Adding.", "hm", "tool_calls")
    assert [(call.id, json.loads(call.arguments)) for call in first.tool_calls] == [
        ("call_1", {"a": 1}),
        ("call_2", {"a": 2}),
    ]
    assert asked.of(ReasoningDelta) and first.usage.input_tokens > 10 and not first.usage.estimated
    asked = Asked(model=MODEL, tools=[ADD], policy=PATIENT)
    asked.request = replace(asked.request, messages=[*messages, answer_message(first), *results(first)])
    assert asked.run().text == "Three."
    sent = running_server.requests[-1].body["messages"]
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool", "tool"]
    assert [message["content"] for message in sent[-2:]] == ["result of call_1", "result of call_2"]


def test_an_error_of_the_proxy_is_one_of_ours(dialect: str) -> None:
    with pytest.raises(BadModelRequest, match="nothing"):
        Asked(model="nothing", policy=PATIENT).run()
