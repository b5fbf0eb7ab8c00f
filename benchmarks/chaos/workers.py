"""Difficult work: F16 external results, F21 many model calls, F22 poison, F33 sandboxed commands."""

from __future__ import annotations

import random
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from benchmarks.chaos.deployment import (
    expect_no_takeover,
    start_agent,
    takeovers,
    wait_execution,
)
from benchmarks.chaos.field import Field
from benchmarks.chaos.scenario import scenario
from benchmarks.chaos.stacks import INTERNAL_KEY
from chat.models import Turn
from durable import jobs
from tests.harness import Client, eventually


@scenario("F16", "outside results: doubled, late, while workers die")
def doubled_completions(field: Field) -> None:
    """Complete each operation with three deliveries at once: its conversation continues exactly once."""
    client = field.stack.client()
    works = [start_operation(client) for _ in range(field.pick(4, 40))]
    with field.load():
        with ThreadPoolExecutor(12) as pool:
            for done, (_, operation) in enumerate(works):
                for _ in range(3):
                    pool.submit(complete, client, operation)
                if done % 8 == 3:
                    field.kill_worker(field.victim())
        complete_all(field, client, works)
    for session, operation in works:
        turns = Turn.objects.filter(session_id=session)
        if turns.count() != 2 or turns.filter(end_reason=Turn.EndReason.DONE).count() != 2:
            field.wrong.append(f"operation {operation}: {turns.count()} turns instead of 2")


def start_operation(client: Client) -> tuple[str, str]:
    session = client.new_session()
    call = {"name": "test_operation", "arguments": {"accepted": True}, "id": "call_long"}
    steps = [{"tool_calls": [call]}, {"text": "It goes on by itself."}, {"text": "It came back."}]
    turn = client.send(session, {"id": f"work-{session}", "steps": steps})
    client.wait(turn["id"])
    parts = [part for message in client.session(session)["messages"] for part in message["parts"]]
    return session, str(
        next(p for p in parts if p["type"] == "tool-test_operation")["output"]["operation_id"]
    )


def complete(client: Client, operation: str) -> int:
    with suppress(httpx.HTTPError):
        return client.http.post(
            f"/api/operations/{operation}/complete",
            json={"success": True, "result": {"made": "x"}},
            headers={"X-API-Key": INTERNAL_KEY},
        ).status_code
    return 0


def complete_all(field: Field, client: Client, works: list[tuple[str, str]]) -> None:
    """Repeat deliveries, as such services do, until each is accepted and its conversation has continued."""
    for session, operation in works:
        eventually(partial(accepted, client, operation), what=f"the completion of {operation}")
        eventually(partial(came_back, session), what=f"the continuation in {session}")


def accepted(client: Client, operation: str) -> bool:
    return complete(client, operation) == 200


def came_back(session: str) -> bool:
    turns = Turn.objects.filter(session_id=session)
    return turns.count() > 1 and not turns.exclude(status__in=Turn.TERMINAL).exists()


@scenario("F21", "300 slow model calls of one execution in one worker process", short=True)
def many_model_calls(field: Field) -> None:
    """Make many model calls: each happens once, and turns of others keep their first attempt."""
    for name in field.worker_names()[1:]:
        field.stack.kill(name)
    calls = field.pick(100, 300)
    before, run = takeovers(), uuid.uuid4().hex[:8]
    ann = field.stack.client()
    with field.load(per_second=0.5):
        execution = start_agent(ann, model_nodes(calls, run))
        found = wait_execution(ann, execution)
    asked = [
        request
        for request in field.stack.model_requests()
        if f"f21-{run}-" in str(request.get("script", request))
    ]
    field.notes["calls"] = f"{len(asked)} for {calls} blocks"
    if found["status"] != "COMPLETED" or len(asked) != calls:
        field.wrong.append(
            f"{found['status']} after {len(asked)} requests for {calls} blocks: {found.get('error')}"
        )
    expect_no_takeover(field, before)


def model_nodes(calls: int, run: str) -> dict[str, Any]:
    def prompt(node: int) -> str:
        return f'SCRIPT: {{"id": "f21-{run}-{node}-", "steps": [{{"text": "yes", "first_delay": 4}}]}}'

    return {f"n{node}": ("AI Text Generator", {"prompt": prompt(node)}) for node in range(calls)}


POISON: dict[str, list[dict[str, Any]]] = {
    "NUL in text": [{"text": "before \x00 after"}],
    "half a character in text": [{"chunks": ["before \ud83d", " after \udc00"]}],
    "NUL in a tool's name": [{"tool_calls": [{"name": "find\x00_block", "arguments": {}, "id": "c"}]}],
    "NUL and half a character in an id": [
        {"tool_calls": [{"name": "test_pure", "arguments": {"value": "x"}, "id": "c\x00\ud800"}]}
    ],
    "NUL in arguments": [{"tool_calls": [{"name": "test_pure", "arguments": {"value": "\x00"}, "id": "c"}]}],
    "usage beyond every column": [
        {"text": "paid", "usage": {"prompt_tokens": 10**30, "completion_tokens": 10**30}}
    ],
    "negative usage": [{"text": "paid", "usage": {"prompt_tokens": -5, "completion_tokens": -1}}],
    "usage that is no number": [
        {"text": "paid", "usage": {"prompt_tokens": "many", "completion_tokens": [1]}}
    ],
    "infinite usage": [{"text": "paid", "usage": {"prompt_tokens": float("inf"), "completion_tokens": 1}}],
    "NUL in an error": [
        {"text": "-", "fault": {"status": 400, "error": {"message": "no\x00\ud800"}, "times": None}}
    ],
}


@scenario("F22", "poison from the model server, and workers that die meanwhile", short=True)
def poison(field: Field) -> None:
    """Poison turns: each ends visibly with what can be stored, without affecting others."""
    wrong = []
    with field.load():
        sent = []
        for _ in range(field.pick(1, 5)):
            sent += [(name, field.send(steps)) for name, steps in POISON.items()]
            field.kill_worker(field.victim())
    for name, one in sent:
        right = {"model_error"} if name == "NUL in an error" else {"done"}
        ends = (
            Turn.objects.filter(pk=one.turn_id).values_list("end_reason", flat=True)
            if one
            else ["not accepted"]
        )
        wrong += [f"{name}: {end}" for end in ends if end not in right]
    field.wrong += sorted(set(wrong))


@scenario("F33", "sandboxed commands are killed at random moments", short=True)
def killed_commands(field: Field) -> None:
    """Time out commands, cancel turns and kill workers: no sandbox process is left."""
    command = {
        "name": "bash_exec",
        "arguments": {"command": "sleep 30 & sleep 30", "timeout": 1},
        "id": "call_bash",
    }
    steps: list[dict[str, Any]] = [{"tool_calls": [command]}, {"text": "over"}]
    for round_ in range(field.pick(2, 10)):
        sent = [one for _ in range(field.pick(4, 8)) if (one := field.send(steps))]
        time.sleep(random.uniform(0.2, 1.5))
        for one in sent[::2]:
            jobs.request_cancel(Turn, one.turn_id)
        if round_ % 3 == 1:
            field.kill_worker(field.victim())
    field.settle()
    try:
        eventually(
            lambda: not sandboxed(field.stack.home), seconds=20, what="the end of the sandboxed processes"
        )
    except AssertionError:
        field.wrong.append(f"left behind: {sandboxed(field.stack.home)}")


def sandboxed(home: Path) -> list[str]:
    """Return the sandbox processes of this stack."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            words = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if "bwrap" in words and str(home) in words:
                found.append(words[:100])
    return found
