"""Agents the offline model built, run by the engine: what comes out is what was asked for."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import User
from durable import jobs
from executions.agents.agent_import import import_graph
from executions.agents.save import Storing
from executions.engine import run_attempt
from executions.engine.dependencies import EngineDependencies
from executions.generator.build import build
from executions.generator.requests import AgentRequest, Built
from executions.models import Execution
from executions.start import start
from tests.executions.conftest import InlineThreads
from tests.executions.generator.askers import OfflineAsker, Shop

CASES: dict[str, tuple[dict[str, Any], dict[str, list[Any]]]] = {
    "greets people by name": ({"name": "Ada"}, {"greeting": ["Hello Ada!"]}),
    "multiplies two numbers": ({"a": 6, "b": 7}, {"result": [42]}),
    "counts the words of a text": ({"text": "one two"}, {"word_count": [2], "character_count": [7]}),
    "reverses a list": ({"items": [1, 2, 3]}, {"reversed": [[3, 2, 1]]}),
    "removes duplicates from a list": ({"items": ["a", "b", "a"]}, {"unique": [["a", "b"]]}),
    "counts the items of a list": ({"items": [1, 2, 3]}, {"count": [3]}),
    "splits a text into a list at commas": ({"text": "a,b"}, {"items": [["a", "b"]]}),
    "joins two texts with a dash": ({"first": "a", "second": "b"}, {"text": ["a-b"]}),
    'replaces "colour" with "color" in a text': ({"text": "colour"}, {"result": ["color"]}),
    "finds all e-mail addresses in a text": (
        {"text": "write to a@example.com or b@example.com"},
        {"found": [["a@example.com", "b@example.com"]], "count": [2]},
    ),
    "reads a CSV table and counts its rows": (
        {"csv": "name,age\nAda,36\nBob,7\n"},
        {"rows": [[{"name": "Ada", "age": "36"}, {"name": "Bob", "age": "7"}]], "row_count": [2]},
    ),
    "tells whether one number is larger than another": ({"a": 3, "b": 2}, {"result": [True]}),
    'fills the template "Dear {{name}}, your order {{number}} is on its way."': (
        {"name": "Ada", "number": "7"},
        {"text": ["Dear Ada, your order 7 is on its way."]},
    ),
    "greets people by name and counts the words": (
        {"name": "Ada"},
        {"greeting": ["Hello Ada!"], "word_count": [2]},
    ),
}


@pytest.mark.django_db
@pytest.mark.parametrize("goal", list(CASES))
def test_an_agent_does_what_its_goal_says(shop: Shop, ada: User, goal: str, redis_server: object) -> None:
    inputs, outputs = CASES[goal]
    made = build(AgentRequest(goal=goal), shop.with_asker(OfflineAsker()))
    assert isinstance(made, Built)
    agent = import_graph(ada, made.graph, source="generated", how=Storing()).agent
    execution = start(ada, agent, inputs).execution
    lease = jobs.claim(Execution, execution.pk, owner="a worker of a test")
    assert lease is not None
    run_attempt.run(lease, EngineDependencies(threads=InlineThreads()))
    execution.refresh_from_db()
    assert (execution.status, execution.error, execution.outputs) == (Execution.COMPLETED, "", outputs)
