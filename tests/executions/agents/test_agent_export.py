"""Exports: what was imported comes out again, the same the second time, without anything private."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from accounts.models import User
from executions.agents.agent_export import export_version
from executions.agents.agent_import import import_agent
from executions.agents.versions import save_graph
from executions.models import Agent
from tests.executions.agents.graphs import documents
from tests.executions.agents.samples import EXPORTS, adder, agent, executor, newsroom, node, sub_agent
from tests.tiers import examples


def round_trip(user: User, document: Any) -> dict[str, Any]:
    return export_version(import_agent(user, document).version)


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_imported_and_exported_again_is_the_same_document(ada: User, bob: User, name: str) -> None:
    first = round_trip(ada, EXPORTS[name]())
    assert round_trip(bob, first) == first


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(document=documents())
def test_any_export_imported_and_exported_again_is_the_same_document(
    ada: User, bob: User, document: Any
) -> None:
    first = round_trip(ada, document)
    assert round_trip(bob, json.loads(json.dumps(first))) == first


def test_an_export_has_the_ids_the_agent_came_with(ada: User) -> None:
    document = round_trip(ada, newsroom())
    assert (document["id"], document["version"], document["name"]) == ("newsroom", 4, "Newsroom")
    assert [sub["id"] for sub in document["sub_graphs"]] == ["new-a", "new-b", "new-c"]
    named = {one["id"]: one["input_default"].get("graph_id") for one in document["nodes"]}
    assert (named["research"], named["write"], named["check"]) == ("new-b", "new-a", "new-c")
    assert document["x_from_the_future"] == {"kept": [1, None]}


def test_an_export_says_what_the_agent_takes_and_gives(ada: User) -> None:
    document = round_trip(ada, adder(input_schema={"stale": True}))
    assert list(document["input_schema"]["properties"]) == ["Number"]
    assert list(document["output_schema"]["properties"]) == ["Sum"]


def test_what_nodes_repeat_of_the_graph_is_up_to_date(ada: User) -> None:
    document = EXPORTS["adder"]()
    stored = import_agent(ada, document)
    document["links"] = [one for one in document["links"] if one["sink_id"] != "out"]
    changed = export_version(save_graph(stored.agent, document).version)
    adding = next(one for one in changed["nodes"] if one["id"] == "add")
    assert (adding["output_links"], adding["graph_version"]) == ([], 2)
    assert [one["sink_name"] for one in adding["input_links"]] == ["a"]


def test_agents_of_the_library_come_along(ada: User, bob: User) -> None:
    helper = import_agent(ada, sub_agent("helper", [], ["x"], name="Helper"))
    stored = import_agent(ada, agent([executor("e", str(helper.agent.pk), [], ["x"])], id="main"))
    document = export_version(stored.version)
    assert [sub["name"] for sub in document["sub_graphs"]] == ["Helper"]
    assert import_agent(bob, document).report.errors == ()


def test_two_agents_that_came_with_one_id_go_out_with_two(ada: User, bob: User) -> None:
    twins = [import_agent(ada, sub_agent("twin", [], ["x"], name=name)).agent for name in ("One", "Two")]
    nodes = [executor(str(number), str(twin.pk), [], ["x"]) for number, twin in enumerate(twins)]
    document = round_trip(ada, agent(nodes))
    assert len({sub["id"] for sub in document["sub_graphs"]}) == 2
    stored = import_agent(bob, document)
    ran = [one["input_default"]["graph_id"] for one in stored.version.graph["nodes"]]
    assert [Agent.objects.get(pk=graph_id).name for graph_id in ran] == ["One", "Two"]


def test_an_agent_that_runs_itself_is_exported_once(ada: User, bob: User) -> None:
    document = adder(id="self")
    document["nodes"].append(executor("again", "self", ["Number"], ["Sum"], inputs={"Number": 1}))
    first = round_trip(ada, document)
    assert first["sub_graphs"] == []
    assert import_agent(bob, first).report.errors == ()


def test_nothing_private_goes_out(ada: User) -> None:
    nodes = [
        node("db", "SQL Query", host="db.internal", database="d", query="select 1"),
        node(
            "web",
            "Send Authenticated Web Request",
            url="https://x.example",
            credentials={"id": "c", "provider": "http"},
        ),
    ]
    stored = import_agent(ada, agent(nodes))
    assert "db.internal" in json.dumps(stored.version.graph)
    text = json.dumps(export_version(stored.version))
    assert "db.internal" not in text
    assert "credentials" not in text
