"""The examples that complete operations from outside, each as its own program against a real stack."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from copilot_project.env import ROOT
from tests.harness import Stack, free_port, running_stack
from tests.needs import NODE, node_program, require
from tests.system.acceptance.test_operations import start_work, wait_idle, wait_status
from tools.operations.secrets import _derive

EXAMPLES = ROOT / "docs" / "examples"
KEY = "a key of the tests, long enough to sign with, and of no use elsewhere"
SECONDS = 60


@pytest.fixture(scope="module")
def stack(short_tmp: Path) -> Iterator[Stack]:
    with running_stack(short_tmp / "senders", workers=1, webs=1, env={"SECRET_KEY": KEY}) as running:
        running.start_consumer()
        yield running


def program(language: str) -> list[str]:
    if language == "python":
        return [sys.executable, "-I", str(EXAMPLES / "ratchet_completion.py")]
    if language == "node":
        require(NODE)
        return [node_program(), str(EXAMPLES / "ratchet-completion.mjs")]
    missing = [name for name in ("bash", "curl", "openssl", "redis-cli") if shutil.which(name) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}: apt install curl openssl redis-tools")
    return ["bash", str(EXAMPLES / "ratchet-completion.sh")]


def run(language: str, **told: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"]} | told
    command = [*program(language), '{"made": "Grüße \\"it\\""}']
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )


def by_webhook(stack: Stack, operation_id: str, key: str = KEY) -> dict[str, str]:
    return {
        "COMPLETION_URL": f"{stack.url()}/api/operations/{operation_id}/complete",
        "COMPLETION_SECRET": _derive(uuid.UUID(operation_id), key),
    }


def by_redis(stack: Stack, operation_id: str) -> dict[str, str]:
    return {"REDIS_URL": f"unix://{stack.socket}", "OPERATION_ID": operation_id}


@pytest.mark.parametrize("way", [by_webhook, by_redis], ids=["webhook", "redis"])
@pytest.mark.parametrize("language", ["python", "node", "shell"])
def test_an_example_completes_an_operation_once(stack: Stack, language: str, way: Any) -> None:
    client = stack.client()
    session = client.new_session()
    operation_id = start_work(client, session, accepted=True)
    wait_status(client, operation_id, "waiting")
    for _ in range(2):
        sent = run(language, **way(stack, operation_id))
        assert sent.returncode == 0, sent.stderr
    assert wait_status(client, operation_id, "completed")["result"] == {"made": 'Grüße "it"'}
    assert wait_idle(client, session, 2) == ["It goes on by itself.", "It came back."]


@pytest.mark.parametrize("language", ["python", "node", "shell"])
def test_an_example_fails_visibly_when_the_signature_is_wrong_or_nobody_listens(
    stack: Stack, language: str
) -> None:
    client = stack.client()
    operation_id = start_work(client, client.new_session(), accepted=True)
    wrong = run(language, **by_webhook(stack, operation_id, "another key"))
    assert wrong.returncode != 0 and "401" in wrong.stdout + wrong.stderr
    nobody = {"COMPLETION_URL": f"http://127.0.0.1:{free_port()}/"}
    assert run(language, **(by_webhook(stack, operation_id) | nobody)).returncode != 0
    away = {"REDIS_URL": f"redis://127.0.0.1:{free_port()}/0", "OPERATION_ID": operation_id}
    assert run(language, **away).returncode != 0
    assert client.http.get(f"/api/operations/{operation_id}").json()["status"] in (
        "queued",
        "running",
        "waiting",
    )


def module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("ratchet_completion", EXAMPLES / "ratchet_completion.py")
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def test_the_module_can_be_imported_and_tells_failures(stack: Stack) -> None:
    sender = module()
    client = stack.client()
    operation_id = start_work(client, client.new_session(), accepted=True)
    wait_status(client, operation_id, "waiting")
    told = by_webhook(stack, operation_id)
    with pytest.raises(sender.CompletionRefused, match="401"):
        sender.complete_by_webhook(told["COMPLETION_URL"], _derive(uuid.uuid4(), KEY), result=1)
    with pytest.raises(OSError):
        sender.complete_by_redis("unix:///nowhere/redis.sock", operation_id, result=1)
    with pytest.raises(sender.CompletionRefused):
        sender.complete_by_redis(f"unix://:wrong@h{stack.socket}", operation_id, result=1)
    sender.complete_by_webhook(told["COMPLETION_URL"], told["COMPLETION_SECRET"], error="No paper.")
    assert wait_status(client, operation_id, "failed")["error"] == "No paper."


def test_the_module_needs_nothing_but_the_standard_library() -> None:
    text = (EXAMPLES / "ratchet_completion.py").read_text()
    imported = {
        line.split()[1].partition(".")[0]
        for line in text.splitlines()
        if line.startswith(("import ", "from "))
    }
    assert imported <= set(sys.stdlib_module_names)
