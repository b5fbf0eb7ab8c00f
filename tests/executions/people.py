"""People and their agents, as fixtures for the folders here: import them into a conftest."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from blocks.registry import get_registry
from executions.agents.agent_import import import_agent
from executions.models import Agent, AgentVersion, Execution


@pytest.fixture
def ada(db: None) -> User:
    return User.objects.create(username="ada")


@pytest.fixture
def bob(db: None) -> User:
    return User.objects.create(username="bob")


@pytest.fixture
def as_ada(ada: User) -> Client:
    return logged_in(ada)


def logged_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def operator(db: None) -> Client:
    return logged_in(User.objects.create_superuser("root"))


def node(node_id: str, block: str, **values: Any) -> dict[str, Any]:
    """A node by the name of its block."""
    block_id = get_registry().get_by_name(block).id
    return {"id": node_id, "block_id": block_id, "input_default": values, "metadata": {}}


def link(source: str, pin: str, sink: str, sink_pin: str) -> dict[str, Any]:
    ends = {"source_id": source, "source_name": pin, "sink_id": sink, "sink_name": sink_pin}
    return {"id": f"{source}.{pin}-{sink}.{sink_pin}", "is_static": False} | ends


def greeter_graph() -> dict[str, Any]:
    """Takes a name, gives it back as `greeting`."""
    nodes = [
        node("in", "Agent Input", name="name", value="world"),
        node("out", "Agent Output", name="greeting"),
    ]
    return {"name": "Greeter", "nodes": nodes, "links": [link("in", "result", "out", "value")]}


def hook_graph() -> dict[str, Any]:
    """Gives back what a caller sent, as `got`."""
    nodes = [node("hook", "Generic Webhook Trigger"), node("out", "Agent Output", name="got")]
    return {"name": "Called", "nodes": nodes, "links": [link("hook", "payload", "out", "value")]}


def import_valid(user: User, graph: dict[str, Any]) -> Agent:
    stored = import_agent(user, graph)
    assert not stored.version.problems
    return stored.agent


def make_agent(user: User, graph: dict[str, Any] | None = None, name: str = "Greeter") -> Agent:
    """An agent with one version, whatever is in it."""
    agent = Agent.objects.create(user=user, name=name)
    add_version(agent, graph or {"nodes": [], "links": []})
    return agent


def add_version(agent: Agent, graph: dict[str, Any], **more: Any) -> AgentVersion:
    agent.latest_version += 1
    agent.save()
    return AgentVersion.objects.create(agent=agent, version=agent.latest_version, graph=graph, **more)


def make_execution(agent: Agent, **values: Any) -> Execution:
    return Execution.objects.create(
        **{"user": agent.user, "agent": agent, "version": 1, "status": Execution.RUNNING} | values
    )


def stored_as(word: str) -> dict[str, Any]:
    """Return the columns of an execution that clients see as REVIEW, or the status as it is."""
    return {"status": Execution.WAITING, "asks_person": True} if word == "REVIEW" else {"status": word}
