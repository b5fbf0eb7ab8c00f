"""Executions: tiny nodes, overhead per node, time to the first node, and a hundred executions at once."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import psycopg

from benchmarks.side_by_side import Report, Series, Size, alternate, at_least
from benchmarks.tiny_nodes import Figures, TinyNodes, graph_of, measure
from tests.harness import ROOT, Client, Stack, prepare
from tests.needs import POSTGRES_URL

TITLE = "every node execution is committed before its outputs are used; one process, one graph"
GOAL_PER_CORE = 1_000


def run(stack: Stack, size: Size, report: Report) -> None:
    items = size.pick(20, 500, 2_000)
    tiny_nodes(items, size, report)
    on_postgresql(stack, items, size, report)
    through_everything(stack, size, report)


# --- one graph ------------------------------------------------------------------------------------


def tiny_nodes(items: int, size: Size, report: Report) -> None:
    tiny = TinyNodes(items)
    tiny.by_the_engine()
    ways = {
        "engine": lambda: measure(tiny.by_the_engine).cpu,
        "calling": lambda: measure(tiny.by_calling).cpu,
        "inserting": lambda: measure(tiny.by_inserting).cpu,
    }
    found = alternate(ways, size.repetitions)
    report.add("a node, CPU, against calling its block", "us", found["engine"], found["calling"])
    report.add("a node, CPU, against a bare bulk insert (SQLite)", "us", found["engine"], found["inserting"])


def on_postgresql(stack: Stack, items: int, size: Size, report: Report) -> None:
    try:
        with database() as url:
            prepare(stack.home, url, "")
            figures = [in_a_process(stack, url, items) for _ in range(size.repetitions)]
    except psycopg.OperationalError:
        report.remark("PostgreSQL is not running here, so the figure of PERFORMANCE.md was not measured")
        return
    engine = [found["engine"] for found in figures]
    insert = [found["insert"] for found in figures]
    per_core = Series.of(1e6 / one.cpu for one in engine)
    report.add(
        "tiny nodes per second of one core (PostgreSQL)", "nodes/s", per_core, goal=at_least(GOAL_PER_CORE)
    )
    report.add(
        "tiny nodes per second on this machine as it is",
        "nodes/s",
        Series.of(one.per_second for one in engine),
        Series.of(one.per_second for one in insert),
    )
    report.remark("baseline of the last: a bare bulk insert of the same rows in one statement")


@contextmanager
def database() -> Iterator[str]:
    name = f"ratchet_bench_{secrets.token_hex(4)}"
    with psycopg.connect(f"{POSTGRES_URL}/postgres", autocommit=True, connect_timeout=3) as server:
        server.execute(f'CREATE DATABASE "{name}"')
        try:
            yield f"{POSTGRES_URL}/{name}"
        finally:
            server.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def in_a_process(stack: Stack, url: str, items: int) -> dict[str, Figures]:
    """Django is set up for one database per process."""
    result = subprocess.run(
        [sys.executable, "-m", "benchmarks.tiny_nodes", str(items)],
        cwd=ROOT,
        env=os.environ | {"DATABASE_URL": url},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    for line in result.stdout.splitlines():
        if line.startswith("FIGURES "):
            found = json.loads(line.removeprefix("FIGURES "))
            return {name: Figures(**figures) for name, figures in found.items()}
    raise RuntimeError(f"The measurement on PostgreSQL failed:\n{result.stdout}\n{result.stderr}")


# --- the whole product ----------------------------------------------------------------------------


def through_everything(stack: Stack, size: Size, report: Report) -> None:
    stack.start_model()
    stack.start_web(0)
    stack.start_worker(0)
    stack.wait_ready(1)
    client = stack.client()
    agent = client._ok(client.http.post("/api/agents", json=graph_of(3) | {"name": "bench"}))["id"]
    first_node(client, agent)
    report.add(
        "from POST execute to the first node",
        "ms",
        Series.of(first_node(client, agent) for _ in range(size.pick(2, 15, 40))),
    )
    count = size.pick(5, 40, 100)
    took = Series.of(at_once(client, agent, count) for _ in range(size.pick(1, 1, 3)))
    report.add(f"{count} executions at once, all of them", "s", took)
    report.add("executions per second", "executions/s", count / took.median)


def first_node(client: Client, agent: str) -> float:
    """Return the milliseconds until the first block started, by the clock of this machine."""
    sent_at = time.time()
    execution = execute(client, agent)
    done = wait(client, execution)
    began = min(datetime.fromisoformat(node["started_at"]).timestamp() for node in done["nodes"])
    return (began - sent_at) * 1000


def at_once(client: Client, agent: str, count: int) -> float:
    started = time.perf_counter()
    with ThreadPoolExecutor(20) as pool:
        executions = list(pool.map(lambda _: execute(client, agent), range(count)))
        ends = list(pool.map(lambda execution: wait(client, execution)["status"], executions))
    assert set(ends) == {"COMPLETED"}, ends
    return time.perf_counter() - started


def execute(client: Client, agent: str) -> str:
    return str(client._ok(client.http.post(f"/api/agents/{agent}/execute", json={}))["id"])


def wait(client: Client, execution: str) -> dict[str, Any]:
    return client._ok(client.http.get(f"/api/executions/{execution}?wait=60&nodes=1", timeout=90))
