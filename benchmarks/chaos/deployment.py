"""What scenarios on a deployment share: expectations of workers, and load."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from benchmarks.chaos.field import Field
from benchmarks.chaos.stacks import ProductionStack
from chat.models import Turn
from durable import pauses
from tests.executions.engine.graphs import agent_json
from tests.harness import Client, eventually

EXECUTION_ENDED = ("COMPLETED", "FAILED", "TERMINATED")
PAUSE_SEEN_SECONDS = 5.0  # workers read pauses with every sweep


def production(field: Field) -> ProductionStack:
    assert isinstance(field.stack, ProductionStack)
    return field.stack


def takeovers() -> int:
    return Turn.objects.filter(attempt__gt=1).count()


def expect_no_takeover(field: Field, before: int) -> None:
    if takeovers() > before:
        field.wrong.append(f"{takeovers() - before} turns were taken from workers that lived")


def expect_same_workers(field: Field, pids: dict[str, int]) -> None:
    gone = [name for name, pid in pids.items() if not alive(pid)]
    if gone:
        field.wrong.append(f"{', '.join(gone)} ended")


def alive(pid: int) -> bool:
    with suppress(OSError):
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return False


def start_agent(client: Client, nodes: dict[str, Any]) -> str:
    agent = client._ok(client.http.post("/api/agents", json=agent_json(nodes, [])))
    assert agent["validation"]["valid"], agent["validation"]
    return str(client._ok(client.http.post(f"/api/agents/{agent['id']}/execute", json={"inputs": {}}))["id"])


def wait_execution(client: Client, execution: str) -> dict[str, Any]:
    def ended() -> dict[str, Any] | None:
        found = client._ok(client.http.get(f"/api/executions/{execution}"))
        return found if found["status"] in EXECUTION_ENDED else None

    found = eventually(ended, seconds=240, what=f"the end of execution {execution}")
    assert found is not None
    return found


@contextmanager
def paused_jobs(kind: str, name: str) -> Iterator[None]:
    """Pause them, and wait until every worker has seen it."""
    pauses.pause(kind, name, reason="chaos")
    time.sleep(PAUSE_SEEN_SECONDS)
    try:
        yield
    finally:
        pauses.resume(kind, name)
