"""Executions and blocks over HTTP: what is answered, what is refused, and that nobody sees another's."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from accounts.models import Budget, User
from blocks.registry import get_registry
from executions import lifecycle
from executions.models import Agent, Execution, NodeExecution, Review
from executions.reviews import decisions
from executions.start import ExecutionRequest, secret_names
from tests.executions.conftest import work_on
from tools.execution_output import output_of

pytestmark = pytest.mark.django_db
NODES: dict[str, Any] = {
    "in": ("Agent Number Input", {"name": "x"}),
    "sum": ("Calculator", {"operation": "Add", "b": 1}),
    "out": ("Agent Output", {"name": "y"}),
}
CANARY = "opensesame-4711"
LINKS = ["in.result -> sum.a", "sum.result -> out.value"]


@pytest.fixture
def ann(user: User) -> Client:
    return logged_in(user)


@pytest.fixture
def bob(user: User) -> Client:
    return logged_in(User.objects.create(username="bob"))


def logged_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def agent(make_agent: Callable[..., Agent]) -> Agent:
    return make_agent(NODES, LINKS)


def post(client: Client, path: str, **body: Any) -> Any:
    return client.post(f"/api/{path}", body, content_type="application/json")


def test_an_agent_is_executed_and_answers_its_outputs(ann: Client, agent: Agent) -> None:
    answer = post(ann, f"agents/{agent.pk}/execute", inputs={"x": "41"}, client_id="one")
    assert answer.status_code == 202
    body = answer.json()
    assert (body["status"], body["inputs"], body["outputs"], body["error"]) == ("QUEUED", {"x": 41}, {}, None)
    again = post(ann, f"agents/{agent.pk}/execute", inputs={"x": 1}, client_id="one")
    assert (again.status_code, again.json()["id"]) == (200, body["id"])
    work_on(Execution.objects.get())
    done = ann.get(f"/api/executions/{body['id']}").json()
    assert (done["status"], done["outputs"], done["cost"]) == ("COMPLETED", {"y": [42]}, "0.000000")
    assert "nodes" not in done


def test_what_was_given_as_a_secret_is_shown_nowhere_whatever_its_name(
    ann: Client, make_agent: Callable[..., Agent], monkeypatch: pytest.MonkeyPatch
) -> None:
    rung: list[Any] = []
    monkeypatch.setattr("durable.client_push.push", lambda *words, **data: rung.append(data))
    nodes = {
        "in": ("Agent Short Text Input", {"name": "code word", "secret": True}),
        "say": ("Fill Text Template", {"format": "It is {{ word }}, {{ word }}."}),
        "out": ("Agent Output", {"name": "said"}),
    }
    agent = make_agent(nodes, ["in.result -> say.values_#_word", "say.output -> out.value"])
    answer = post(ann, f"agents/{agent.pk}/execute", inputs={"code word": CANARY})
    assert answer.json()["inputs"] == {"code word": "[REDACTED]"}
    done = work_on(Execution.objects.get())
    assert done.outputs == {"said": [f"It is {CANARY}, {CANARY}."]}, "the run itself has it"
    shown = ann.get(f"/api/executions/{done.pk}?nodes=true").json()
    assert shown["outputs"] == {"said": ["It is [REDACTED], [REDACTED]."]}
    listed = ann.get(f"/api/agents/{agent.pk}/executions").content + ann.get("/api/executions").content
    told = json.dumps([shown, rung, lifecycle.describe(done), output_of(done, details=True).model_dump()])
    assert CANARY not in told + listed.decode()
    assert shown["nodes"] and "[REDACTED]" in json.dumps(shown["nodes"])


def test_a_secret_stays_one_in_the_agents_below(make_agent: Callable[..., Agent], user: User) -> None:
    node = NodeExecution(execution=Execution(inputs={"a": "swordfish"}, secret_inputs=["a"]))
    agent = make_agent({"in": ("Agent Short Text Input", {"name": "b"})})
    version = agent.versions.get()
    found = secret_names(version, {"b": "the word is swordfish", "c": "plain"}, ExecutionRequest(parent=node))
    assert found == ["b"]


def test_wrong_inputs_are_named(ann: Client, agent: Agent) -> None:
    answer = post(ann, f"agents/{agent.pk}/execute", inputs={"x": "many", "z": 1})
    assert answer.status_code == 400
    assert sorted(answer.json()["error"]["fields"]) == ["inputs.x", "inputs.z"]
    assert post(ann, f"agents/{agent.pk}/execute", inputs="x").status_code == 400


def test_over_budget_is_402_and_problems_are_409(ann: Client, user: User, agent: Agent) -> None:
    agent.versions.update(problems=[{"code": "x", "message": "It is broken."}])
    answer = post(ann, f"agents/{agent.pk}/execute", inputs={"x": 1})
    assert (answer.status_code, "It is broken." in answer.json()["error"]["message"]) == (409, True)
    agent.versions.update(problems=[])
    Budget.objects.create(user=user, day_limit=Decimal(0))
    assert post(ann, f"agents/{agent.pk}/execute", inputs={"x": 1}).status_code == 402


def test_nodes_come_with_the_execution_when_asked_for_and_in_pages(
    ann: Client, execution_of: Callable[..., Execution]
) -> None:
    done = work_on(execution_of(NODES, LINKS, {"x": 1}))
    body = ann.get(f"/api/executions/{done.pk}?nodes=1").json()
    assert body["node_count"] == 3
    assert {node["node_id"]: node["outputs"] for node in body["nodes"]}["sum"] == [["result", 2]]
    page = ann.get(f"/api/executions/{done.pk}/nodes?limit=2").json()
    assert len(page["results"]) == 2
    rest = ann.get(f"/api/executions/{done.pk}/nodes?limit=2&cursor={page['next']}").json()
    assert len(rest["results"]) == 1


def test_secrets_in_inputs_are_not_shown(ann: Client, execution_of: Callable[..., Execution]) -> None:
    nodes = {"in": ("Agent Input", {"name": "api_key"}), "out": ("Agent Output", {"name": "y"})}
    done = work_on(execution_of(nodes, [], {"api_key": "s3cret"}))
    body = ann.get(f"/api/executions/{done.pk}").json()
    assert body["inputs"] == {"api_key": "[REDACTED]"}


def test_secrets_in_outputs_are_not_shown(ann: Client, execution_of: Callable[..., Execution]) -> None:
    """Neither what goes under a secret's name deep in a value, nor what is an output of such a name."""
    nodes = {
        "in": ("Agent Input", {"name": "x"}),
        "plain": ("Agent Output", {"name": "login"}),
        "named": ("Agent Output", {"name": "Access-Token"}),
        "empty": ("Agent Output", {"name": "token"}),
    }
    links = [
        "in.result -> plain.value",
        "in.result_#_api_key -> named.value",
        "in.result_#_none -> empty.value",
    ]
    given = {"api_key": "s3cret", "list": [{"Password": "s3cret"}, "kept"], "none": ""}
    done = work_on(execution_of(nodes, links, {"x": given}))
    assert done.outputs["Access-Token"] == ["s3cret"], done.error
    expected = {
        "login": [{"api_key": "[REDACTED]", "list": [{"Password": "[REDACTED]"}, "kept"], "none": ""}],
        "Access-Token": ["[REDACTED]"],
        "token": [""],
    }
    assert ann.get(f"/api/executions/{done.pk}").json()["outputs"] == expected
    [listed] = ann.get("/api/executions").json()["results"]
    assert listed["outputs"] == expected


def test_what_a_node_emits_on_a_pin_with_the_name_of_a_secret_is_not_shown(
    ann: Client, execution_of: Callable[..., Execution]
) -> None:
    execution = execution_of(NODES, LINKS)
    pairs = [["token", "s3cret"], ["result", {"secret": "s3cret"}], ["result", 1]]
    execution.nodes.create(node_id="a", block_id="b", run=1, status="COMPLETED", outputs=pairs)
    expected = [["token", "[REDACTED]"], ["result", {"secret": "[REDACTED]"}], ["result", 1]]
    [node] = ann.get(f"/api/executions/{execution.pk}?nodes=1").json()["nodes"]
    assert node["outputs"] == expected


def test_executions_are_listed_newest_first_without_those_of_sub_agents(
    ann: Client, bob: Client, agent: Agent, make_agent: Callable[..., Agent]
) -> None:
    other = make_agent(NODES, LINKS)
    rows = [
        Execution.objects.create(user=agent.user, agent=one, version=1, status=status)
        for one, status in [(agent, "COMPLETED"), (other, "QUEUED"), (agent, "QUEUED")]
    ]
    node = rows[0].nodes.create(node_id="a", block_id="b", run=1, status="COMPLETED")
    Execution.objects.create(user=agent.user, agent=agent, version=1, status="QUEUED", parent=node)

    def listed(query: str = "") -> list[str]:
        return [row["id"] for row in ann.get(f"/api/executions{query}").json()["results"]]

    assert listed() == [str(row.pk) for row in reversed(rows)]
    assert listed(f"?agent={other.pk}") == [str(rows[1].pk)]
    assert listed("?status=COMPLETED") == [str(rows[0].pk)]
    assert bob.get("/api/executions").json()["results"] == []
    assert ann.get("/api/executions?status=asleep").status_code == 400
    assert ann.get("/api/executions?agent=x").status_code == 400


def test_waiting_ends_at_once_for_one_that_has_ended_or_asks(
    ann: Client, execution_of: Callable[..., Execution]
) -> None:
    done = work_on(execution_of(NODES, LINKS, {"x": 1}))
    assert ann.get(f"/api/executions/{done.pk}?wait=300").json()["status"] == "COMPLETED"
    asks = work_on(execution_of({"ask": ("Human In The Loop", {"data": 1, "name": "n"})}))
    assert ann.get(f"/api/executions/{asks.pk}?wait=300").json()["status"] == "REVIEW"
    queued = execution_of(NODES, LINKS, {"x": 1})
    assert ann.get(f"/api/executions/{queued.pk}?wait=0.1").json()["status"] == "QUEUED"


def test_who_waits_is_shown_as_running_unless_a_person_is_asked(
    ann: Client, execution_of: Callable[..., Execution]
) -> None:
    asks = work_on(execution_of({"ask": ("Human In The Loop", {"data": 1, "name": "n"})}))
    pauses = work_on(execution_of({"wait": ("Countdown Timer", {"hours": 2})}))
    for execution, word in ((asks, "REVIEW"), (pauses, "RUNNING")):
        shown = ann.get(f"/api/executions/{execution.pk}?nodes=1").json()
        assert (shown["status"], [node["status"] for node in shown["nodes"]]) == (word, [word])
        found = ann.get(f"/api/executions?status={word}").json()["results"]
        assert [one["id"] for one in found] == [str(execution.pk)]
    assert ann.get("/api/executions?status=WAITING").status_code == 400


@pytest.mark.parametrize("wait", ["-1", "301", "soon", "nan", "inf"])
def test_a_wait_that_makes_no_sense_is_refused(
    ann: Client, execution_of: Callable[..., Execution], wait: str
) -> None:
    execution = execution_of(NODES, LINKS)
    assert ann.get(f"/api/executions/{execution.pk}?wait={wait}").status_code == 400


def test_cancelling_is_truthful(ann: Client, execution_of: Callable[..., Execution]) -> None:
    queued = execution_of(NODES, LINKS, {"x": 1})
    assert post(ann, f"executions/{queued.pk}/cancel").json() == {"cancelled": True}
    assert post(ann, f"executions/{queued.pk}/cancel").json() == {
        "cancelled": True,
        "reason": "already_cancelled",
    }
    done = work_on(execution_of(NODES, LINKS, {"x": 1}))
    assert post(ann, f"executions/{done.pk}/cancel").json() == {"cancelled": False, "reason": "already_ended"}


def test_what_is_anothers_is_not_found(
    bob: Client, agent: Agent, execution_of: Callable[..., Execution]
) -> None:
    execution = execution_of(NODES, LINKS)
    for path in (
        f"executions/{execution.pk}",
        f"executions/{execution.pk}/nodes",
        f"executions/{uuid.uuid4()}",
    ):
        assert bob.get(f"/api/{path}").status_code == 404
    assert post(bob, f"executions/{execution.pk}/cancel").status_code == 404
    assert post(bob, f"agents/{agent.pk}/execute", inputs={"x": 1}).status_code == 404
    assert Client().get("/api/executions").status_code in (401, 403)


# --- blocks -------------------------------------------------------------------------------------


def block_id(name: str) -> str:
    return get_registry().get_by_name(name).id


def test_the_catalogue_lists_every_block_and_finds_some(ann: Client) -> None:
    every = ann.get("/api/blocks").json()["results"]
    assert len(every) == len(get_registry())
    [found] = ann.get("/api/blocks?search=calculator").json()["results"]
    assert found["input_schema"]["required"] == ["operation", "a", "b"]
    assert Client().get("/api/blocks").status_code in (401, 403)


def test_a_block_is_run_by_itself(ann: Client, block_worker: None) -> None:
    path = f"blocks/{block_id('Calculator')}/execute"
    answer = post(ann, path, inputs={"operation": "Add", "a": 1, "b": "2"})
    assert (answer.status_code, answer.json()["status"], answer.json()["outputs"]) == (
        200,
        "completed",
        {"result": [3]},
    )
    failed = post(ann, path, inputs={"operation": "Divide", "a": 1, "b": 0}).json()
    assert (failed["status"], bool(failed["error"])) == ("failed", True)


def test_a_block_with_an_unknown_field_is_not_run(ann: Client, block_worker: None) -> None:
    answer = post(
        ann, f"blocks/{block_id('Calculator')}/execute", inputs={"operation": "Add", "a": 1, "b": 2, "c": 3}
    )
    assert (answer.status_code, list(answer.json()["error"]["fields"])) == (400, ["inputs.c"])


@pytest.mark.parametrize(
    "name", ["Agent Input", "Agent Output", "Agent Executor", "AutoPilot", "Orchestrator"]
)
def test_blocks_of_agents_are_not_run_alone(ann: Client, name: str) -> None:
    answer = post(ann, f"blocks/{block_id(name)}/execute", inputs={})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "not_alone")


def test_an_unknown_block_is_not_found(ann: Client) -> None:
    assert post(ann, f"blocks/{uuid.uuid4()}/execute", inputs={}).status_code == 404


def test_a_sensitive_block_waits_for_a_person_and_runs_when_asked_again(
    ann: Client, user: User, block_worker: None
) -> None:
    path = f"blocks/{block_id('Print To Console')}/execute"
    waiting = post(ann, path, inputs={"text": "hello"}, client_id="p")
    assert (waiting.status_code, waiting.json()["status"]) == (202, "review")
    review = Review.objects.get(pk=waiting.json()["review_id"])
    decisions.decide(review, approved=True, by=user)
    done = post(ann, path, inputs={"text": "hello"}, client_id="p").json()
    assert done["outputs"] == {"output": ["hello"], "status": ["printed"]}
