"""Test runs of drafts: the revision as it is, pinned outputs instead of runs, single nodes with the last values."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from rest_framework.test import APIClient

from accounts.models import User
from executions import limits
from executions.drafts.node_inputs import gather_inputs, node_of
from executions.models import AgentDraft, Execution
from tests.executions.agents.samples import adder
from tests.executions.api.test_agents import bring, client_of, error_of
from tests.executions.conftest import work_on

JSON = Any


@pytest.fixture
def client(user: User) -> APIClient:
    return client_of(user)


def saved(client: APIClient, made: dict[str, JSON], operand: JSON = 34, revision: int = 0) -> dict[str, JSON]:
    graph = copy.deepcopy(made["graph"])
    graph["nodes"][1]["input_default"]["b"] = operand
    order = {"graph": graph, "revision": revision, "save_id": f"save {revision}"}
    body: dict[str, JSON] = client.put(f"/api/agents/{made['id']}/draft", order, format="json").json()
    return body


def run(client: APIClient, draft: dict[str, JSON], number: int = 1, **more: JSON) -> Any:
    order = {"revision": draft["revision"], "inputs": {"Number": number}, "client_id": "one"} | more
    return client.post(f"/api/agents/{draft['agent_id']}/draft/run", order, format="json")


def pin(client: APIClient, agent: str, node: str, **order: JSON) -> Any:
    return client.put(f"/api/agents/{agent}/draft/nodes/{node}/pin", order, format="json")


def test_draft_is_run_as_it_is_and_versions_stay(client: APIClient) -> None:
    made = bring(client, adder())
    draft = saved(client, made, 100)
    answer = run(client, draft)
    assert (answer.status_code, answer.json()["source"]) == (202, "draft")
    saved(client, made, 200, revision=1)
    done = work_on(Execution.objects.get(pk=answer.json()["id"]))
    assert done.outputs == {"Sum": [101]}, "the revision that was run, whatever is typed meanwhile"
    assert client.get(f"/api/agents/{made['id']}").json()["version"] == 1
    assert run(client, draft, client_id="two").status_code == 409


def test_draft_that_cannot_run_is_refused_with_its_problems(client: APIClient) -> None:
    made = bring(client, adder())
    graph = copy.deepcopy(made["graph"])
    graph["links"] = []
    order = {"graph": graph, "revision": 0, "save_id": "x"}
    draft = client.put(f"/api/agents/{made['id']}/draft", order, format="json").json()
    error = error_of(run(client, draft), 409, "cannot_run")
    assert "Calculator" in error["message"]
    assert not Execution.objects.exists()


def test_pinned_node_is_not_run_and_costs_nothing(client: APIClient) -> None:
    made = bring(client, adder())
    pinned = pin(client, made["id"], "add", outputs=[["result", 7]]).json()
    assert pinned["pinned"] == {"add": [["result", 7]]}
    done = work_on(Execution.objects.get(pk=run(client, pinned).json()["id"]))
    assert (done.status, done.outputs) == ("COMPLETED", {"Sum": [7]}) and not done.cost
    assert client.delete(f"/api/agents/{made['id']}/draft/nodes/add/pin").json()["pinned"] == {}
    done = work_on(Execution.objects.get(pk=run(client, pinned, client_id="two").json()["id"]))
    assert done.outputs == {"Sum": [35]}


def test_output_of_a_run_is_pinned_without_its_secrets(client: APIClient) -> None:
    document = adder()
    document["nodes"][0]["input_default"]["secret"] = True
    made = bring(client, document)
    done = work_on(Execution.objects.get(pk=run(client, saved(client, made), 12345).json()["id"]))
    body = pin(client, made["id"], "in", execution_id=str(done.pk)).json()
    assert "12345" not in str(body["pinned"])
    assert pin(client, made["id"], "add", execution_id=str(done.pk)).json()["pinned"]["add"] == [
        ["result", 12379]
    ]


def test_pins_are_refused_for_missing_nodes_and_when_too_large(client: APIClient) -> None:
    made = bring(client, adder())
    assert pin(client, made["id"], "nowhere", outputs=[]).status_code == 404
    assert pin(client, made["id"], "add").status_code == 400
    assert pin(client, made["id"], "add", outputs=[["one"]]).status_code == 400
    large = [["result", "x" * limits.MAX_PINNED_BYTES]]
    error_of(pin(client, made["id"], "add", outputs=large), 413, "pins_too_large")
    stranger = bring(client_of(User.objects.create(username="eve")), adder())
    assert pin(client, stranger["id"], "add", outputs=[]).status_code == 404


def test_single_node_takes_pinned_values_else_the_last_ones(client: APIClient, user: User) -> None:
    made = bring(client, adder())
    draft = saved(client, made)
    row = AgentDraft.objects.select_related("agent__user").get()
    node = node_of(row, "add")
    assert gather_inputs(user, row, node, {}) == {"operation": "Add", "b": 34}
    work_on(Execution.objects.get(pk=run(client, draft, 6).json()["id"]))
    assert gather_inputs(user, row, node, {}) == {"operation": "Add", "b": 34, "a": 6}
    pin(client, made["id"], "in", outputs=[["result", 9]])
    row.refresh_from_db()
    assert gather_inputs(user, row, node, {})["a"] == 9
    assert gather_inputs(user, row, node, {"a": 1})["a"] == 1


def test_single_node_that_does_not_exist_is_not_run(client: APIClient) -> None:
    made = bring(client, adder())
    where = f"/api/agents/{made['id']}/draft/nodes/nowhere/run"
    assert client.post(where, {"client_id": "x"}, format="json").status_code == 404
