"""Retry of failed executions: what finished is taken over, free of charge, and only the rest runs."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from rest_framework.test import APIClient

from accounts.models import User
from executions.models import Execution, NodeExecution
from tests.executions.agents.samples import agent, link, node
from tests.executions.api.test_agents import bring, client_of, error_of
from tests.executions.conftest import rows_of, work_on

JSON = Any


@pytest.fixture
def client(user: User) -> APIClient:
    return client_of(user)


def divider() -> dict[str, JSON]:
    """Adds one to its input and to a list, then divides by a number: by 0 it fails."""
    return agent(
        [
            node("in", "Agent Number Input", name="Number"),
            node("add", "Calculator", operation="Add", b=1),
            node("divide", "Calculator", operation="Divide", b=0),
            node("out", "Agent Output", name="Result"),
        ],
        [
            link("in.result", "add.a", is_static=True),
            link("add.result", "divide.a"),
            link("divide.result", "out.value"),
        ],
    )


def run(client: APIClient, agent_id: str, number: int = 5) -> Execution:
    answer = client.post(f"/api/agents/{agent_id}/execute", {"inputs": {"Number": number}}, format="json")
    return work_on(Execution.objects.get(pk=answer.json()["id"]))


def retry(client: APIClient, execution: Execution, **order: JSON) -> Any:
    return client.post(f"/api/executions/{execution.pk}/retry", order, format="json")


def test_retry_runs_only_what_had_not_finished(client: APIClient) -> None:
    failed = run(client, bring(client, divider())["id"])
    assert failed.status == "FAILED"
    answer = retry(client, failed)
    assert answer.status_code == 202, answer.content
    assert answer.json()["retry_of_id"] == str(failed.pk)
    again = Execution.objects.get(pk=answer.json()["id"])
    assert rows_of(again) == [("in", 1, "COMPLETED"), ("add", 1, "COMPLETED")]
    done = work_on(again)
    assert done.status == "FAILED"
    attempts = dict(done.nodes.values_list("node_id", "attempt"))
    assert attempts == {"in": 0, "add": 0, "divide": 1}, "an attempt of its own ran the failed node only"


def test_retry_goes_on_with_the_corrected_draft(client: APIClient) -> None:
    made = bring(client, divider())
    failed = run(client, made["id"])
    graph = copy.deepcopy(made["graph"])
    graph["nodes"][2]["input_default"]["b"] = 2
    order = {"graph": graph, "revision": 0, "save_id": "one"}
    assert client.put(f"/api/agents/{made['id']}/draft", order, format="json").status_code == 200
    again = Execution.objects.get(pk=retry(client, failed, draft=True).json()["id"])
    done = work_on(again)
    assert (done.status, done.outputs, done.source) == ("COMPLETED", {"Result": [3]}, "draft")
    assert dict(done.nodes.values_list("node_id", "attempt")) == {"in": 0, "add": 0, "divide": 1, "out": 1}
    shown = client.get(f"/api/executions/{done.pk}?nodes=1").json()
    assert shown["graph"]["nodes"][2]["input_default"]["b"] == 2


@pytest.mark.parametrize("change", ["value", "link", "removed"])
def test_draft_that_changes_what_had_finished_is_refused(client: APIClient, change: str) -> None:
    made = bring(client, divider())
    failed = run(client, made["id"])
    graph = copy.deepcopy(made["graph"])
    if change == "value":
        graph["nodes"][1]["input_default"]["b"] = 7
    elif change == "link":
        graph["links"][0]["sink_name"] = "b"
    else:
        graph["nodes"] = [one for one in graph["nodes"] if one["id"] != "add"]
        graph["links"] = [one for one in graph["links"] if "add" not in (one["sink_id"], one["source_id"])]
    client.put(
        f"/api/agents/{made['id']}/draft",
        {"graph": graph, "revision": 0, "save_id": "one"},
        format="json",
    )
    error = error_of(retry(client, failed, draft=True), 409, "nothing_to_retry")
    assert "'add'" in error["message"]
    assert Execution.objects.count() == 1


def test_the_same_retry_again_is_one_execution(client: APIClient) -> None:
    failed = run(client, bring(client, divider())["id"])
    first, second = (retry(client, failed, client_id="again") for _ in range(2))
    assert (first.status_code, second.status_code) == (202, 200)
    assert first.json()["id"] == second.json()["id"]
    assert NodeExecution.objects.filter(execution=first.json()["id"]).count() == 2


def test_what_succeeded_or_still_runs_is_not_retried(client: APIClient) -> None:
    document = divider()
    document["nodes"][2]["input_default"]["b"] = 1
    done = run(client, bring(client, document)["id"])
    assert done.status == "COMPLETED"
    error_of(retry(client, done), 409, "nothing_to_retry")
    queued = client.post(
        f"/api/agents/{done.agent_id}/execute", {"inputs": {"Number": 1}}, format="json"
    ).json()
    error_of(retry(client, Execution.objects.get(pk=queued["id"])), 409, "nothing_to_retry")
    error_of(retry(client, done, draft=True), 409, "nothing_to_retry")


def test_execution_of_somebody_else_is_not_retried(client: APIClient) -> None:
    failed = run(client, bring(client, divider())["id"])
    eve = client_of(User.objects.create(username="eve"))
    assert retry(eve, failed).status_code == 404


def test_effect_that_was_cut_off_is_not_done_again_unless_asked_twice(client: APIClient) -> None:
    """Where nobody knows whether a message went out, the first retry says so; the second one sends it."""
    document = divider()
    document["nodes"].append(node("mail", "Send Web Request", url="https://example.com/", method="POST"))
    failed = run(client, bring(client, document)["id"])
    failed.nodes.filter(node_id="mail").delete()
    NodeExecution.objects.create(
        execution=failed,
        node_id="mail",
        block_id=document["nodes"][-1]["block_id"],
        run=1,
        status="TERMINATED",
    )
    again = Execution.objects.get(pk=retry(client, failed).json()["id"])
    row = again.nodes.get(node_id="mail")
    assert row.status == "FAILED" and not row.cost
    assert "may or may not have happened" in row.error
    done = work_on(again)
    assert done.status == "FAILED" and not done.cost
    third = Execution.objects.get(pk=retry(client, done).json()["id"])
    assert not third.nodes.filter(node_id="mail").exists(), "now it runs"
