"""Executions run in this process: real rows, real Redis; only the worker's shell is left out."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest
from django.db import connections

from accounts.models import User
from durable import jobs
from executions.agents.schemas import schemas_of
from executions.engine import run_attempt
from executions.engine.dependencies import EngineDependencies
from executions.engine.thread_pool import BlockThreads, PoolTask
from executions.graph import parse_graph
from executions.models import Agent, AgentVersion, BlockRun, Execution
from executions.run_block import block_jobs
from tests.executions.engine.graphs import agent_json, registry

Nodes = Mapping[str, tuple[str, dict[str, Any]]]


class InlineThreads(BlockThreads):
    """Runs each task at once on the thread that hands it over, so that all of it is in the test's transaction."""

    def submit(self, tasks: Sequence[PoolTask]) -> None:
        for task in tasks:
            task.work()


@pytest.fixture
def user(db: None, redis_server: object) -> User:
    return User.objects.create(username="ann")


@pytest.fixture
def make_agent(user: User) -> Callable[..., Agent]:
    """Save a graph as an agent of the user."""

    def make(nodes: Nodes, links: Sequence[str] = (), *, owner: User | None = None, **facts: Any) -> Agent:
        document = agent_json(dict(nodes), list(links))
        agent = Agent.objects.create(user=owner or user, name="an agent of a test", latest_version=1, **facts)
        schemas = schemas_of(parse_graph(document), registry())
        AgentVersion.objects.create(
            agent=agent,
            version=1,
            graph=document,
            input_schema=dict(schemas.inputs),
            output_schema=dict(schemas.outputs),
        )
        return agent

    return make


@pytest.fixture
def execution_of(make_agent: Callable[..., Agent]) -> Callable[..., Execution]:
    """An execution of a graph, queued."""

    def make(
        nodes: Nodes, links: Sequence[str] = (), inputs: Mapping[str, Any] | None = None, **facts: Any
    ) -> Execution:
        agent = make_agent(nodes, links)
        values = {"version": 1, "status": Execution.QUEUED, "inputs": inputs or {}} | facts
        return Execution.objects.create(user=agent.user, agent=agent, **values)

    return make


def work_on(execution: Execution, crew: BlockThreads | None = None) -> Execution:
    """As a worker that was poked; one that is not to be had is left as it is."""
    lease = jobs.claim(Execution, execution.pk, owner="a worker of a test")
    if lease is not None:
        run_attempt.run(lease, EngineDependencies(threads=crew or InlineThreads(), registry=registry()))
    return Execution.objects.get(pk=execution.pk)


@pytest.fixture
def block_worker(transactional_db: None, redis_server: object) -> Iterator[None]:
    """A worker that takes block runs, in a thread of this process."""
    over = threading.Event()

    def work() -> None:
        while not over.wait(0.02):
            run_queued_blocks()
        connections.close_all()

    thread = threading.Thread(target=work)
    thread.start()
    yield
    over.set()
    thread.join(30)


def run_queued_blocks() -> None:
    """As a worker that was poked for each."""
    for run_id in BlockRun.objects.filter(status=BlockRun.QUEUED).values_list("pk", flat=True):
        lease = jobs.claim(BlockRun, run_id, owner="a worker of a test")
        if lease is not None:
            block_jobs.run(lease)


def rows_of(execution: Execution) -> list[tuple[str, int | None, str]]:
    """(node, run, status) in the order of their ends."""
    return list(execution.nodes.order_by("seq", "started_at").values_list("node_id", "run", "status"))


def fresh(execution: Execution) -> Execution:
    return Execution.objects.get(pk=execution.pk)


def new_key() -> str:
    return uuid.uuid4().hex
