"""People and their agents, as fixtures for the folders here: import them into a conftest."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from accounts.models import User
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
