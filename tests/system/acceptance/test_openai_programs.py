"""Programs of other people, pointed at /v1 by nothing but an address and a key: chat, tools, structured answers."""

from __future__ import annotations

import json
import os
import subprocess
import uuid
from pathlib import Path
from typing import Any

import yaml

from tests.harness import Stack
from tests.needs import (
    CLIENT_PACKAGES,
    CLIENTS,
    NODE,
    OPENAI_PROGRAMS,
    OPENAI_PROGRAMS_FOLDER,
    node_program,
    openai_program,
    require,
)
from tests.system.acceptance.test_openai_door import ASKS_WEATHER, script

TEXT = "From somebody else's program: äöü."
SUNNY = "It is sunny in Oslo."
PROGRAM_SECONDS = 300
WEATHER_FUNCTION = """
def get_weather(city: str) -> str:
    "Tell the weather of a city."
    return f"sunny in {city}"
"""


def plain() -> str:
    return script({"reasoning": "Hm.", "text": TEXT, "delay": 0.002})


def calling() -> str:
    return script({"tool_calls": [ASKS_WEATHER]}, {"text": SUNNY})


def run(command: list[str], **options: Any) -> str:
    ran = subprocess.run(
        command, capture_output=True, text=True, timeout=PROGRAM_SECONDS, check=False, **options
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return str(ran.stdout).strip()


def last_results(stack: Stack, text: str) -> list[str]:
    """Return the results of tools that the model saw in its last request with the text."""
    asked = [request["body"]["messages"] for request in stack.model_requests() if text in json.dumps(request)]
    return [message["content"] for message in asked[-1] if message["role"] == "tool"]


def test_llm_command_chats_goes_on_and_runs_its_own_functions(stack: Stack, tmp_path: Path) -> None:
    require(OPENAI_PROGRAMS)
    model = {
        "model_id": "ratchet",
        "model_name": "copilot",
        "api_base": f"{stack.url()}/v1",
        "api_key_name": "ratchet",
        "supports_tools": True,
        "supports_schema": True,
    }
    (tmp_path / "extra-openai-models.yaml").write_text(yaml.safe_dump([model]))
    (tmp_path / "keys.json").write_text(json.dumps({"ratchet": stack.client().key}))
    env = os.environ | {"LLM_USER_PATH": str(tmp_path)}
    llm = [openai_program("llm"), "-m", "ratchet"]
    assert TEXT in run([*llm, plain()], env=env)
    assert run([*llm, "--no-stream", script({"text": "Whole."})], env=env).endswith("Whole.")
    mark = uuid.uuid4().hex
    assert "And on." in run([*llm, "-c", script({"text": "And on."}, name=mark)], env=env)
    asked = [request for request in stack.model_requests() if mark in json.dumps(request)]
    assert "Whole." in json.dumps(asked[-1])  # the copilot was told what came before
    said = run([*llm, "--functions", WEATHER_FUNCTION, calling()], env=env)
    assert SUNNY in said
    assert "sunny in Oslo" in " ".join(last_results(stack, SUNNY))
    given = run([*llm, "--schema", "a int", "--no-stream", script({"text": '{"a": 5}'})], env=env)
    assert json.loads(given) == {"a": 5}


def test_langchain_over_both_protocols(stack: Stack) -> None:
    require(OPENAI_PROGRAMS)
    program = [openai_program("python"), str(OPENAI_PROGRAMS_FOLDER / "ask_langchain.py")]
    words = [f"{stack.url()}/v1", stack.client().key, plain(), calling(), script({"text": '{"a": 7}'})]
    saw = json.loads(run([*program, *words]).splitlines()[-1])
    for name in ("completions", "responses"):
        assert saw[name].pop("tokens") > 0
        assert saw[name] == {"whole": TEXT, "streamed": TEXT, "tools": SUNNY, "structured": 7}, name


def test_providers_of_the_ai_sdk_over_both_protocols(stack: Stack) -> None:
    require(NODE, CLIENTS)
    words = [f"{stack.url()}/v1", stack.client().key, plain(), calling()]
    said = run([node_program(), "openai_providers.mjs", *words], cwd=CLIENT_PACKAGES)
    saw = json.loads(said.splitlines()[-1])
    for name in ("responses", "chat", "compatible"):
        assert saw[name].pop("tokens") > 0
        assert saw[name] == {"whole": TEXT, "streamed": TEXT, "tools": SUNNY}, name
