"""Versions: none ever changes, a change is a new one, and going back is one call."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import User
from executions.agents import library, versions
from executions.agents.agent_export import export_version
from executions.agents.agent_import import import_agent
from executions.agents.diff import compare
from executions.agents.errors import AgentMissing, NotAGraph, VersionMissing, VersionMoved
from executions.agents.save import Storing
from executions.graph import parse_graph
from executions.models import Agent, AgentVersion
from executions.signals import agent_removed
from tests.executions.agents.samples import adder, agent, executor, link, newsroom, node, sub_agent


def subtracter() -> dict[str, Any]:
    document = adder()
    document["nodes"][1]["input_default"]["operation"] = "Subtract"
    return document


def test_a_version_never_changes(ada: User) -> None:
    version = import_agent(ada, adder()).version
    version.note = "other"
    with pytest.raises(TypeError, match="never changes"):
        version.save()


def test_a_new_graph_is_a_new_version_and_the_old_one_stays(ada: User) -> None:
    first = import_agent(ada, adder())
    second = versions.save_graph(first.agent, subtracter(), how=Storing(note="Take away"))
    assert (second.version.version, second.version.note, second.changed) == (2, "Take away", True)
    agent_now = library.get_agent(ada, first.agent.pk)
    assert agent_now.latest_version == 2
    assert versions.get_version(agent_now).graph["nodes"][1]["input_default"]["operation"] == "Subtract"
    assert versions.get_version(agent_now, 1).graph == first.version.graph


def test_the_same_graph_again_is_no_new_version(ada: User) -> None:
    first = import_agent(ada, adder())
    again = versions.save_graph(first.agent, first.version.graph | {"name": "Whatever"})
    assert (again.version, again.changed) == (first.version, False)
    assert versions.versions_of(first.agent).count() == 1


def test_a_graph_that_cannot_run_is_a_version_too_and_says_why(ada: User) -> None:
    first = import_agent(ada, adder())
    broken = versions.save_graph(first.agent, agent([{"id": "x", "block_id": "nope", "metadata": {}}]))
    assert not broken.report.valid
    assert not broken.version.is_valid


def test_what_is_no_graph_makes_no_version(ada: User) -> None:
    first = import_agent(ada, adder())
    with pytest.raises(NotAGraph):
        versions.save_graph(first.agent, {"nodes": "many"})
    assert versions.versions_of(first.agent).count() == 1


def test_a_change_made_on_an_older_version_is_refused(ada: User) -> None:
    first = import_agent(ada, adder())
    versions.save_graph(first.agent, subtracter(), on_version=1)
    with pytest.raises(VersionMoved):
        versions.save_graph(first.agent, adder(extra=1), on_version=1)


def test_going_back_is_a_new_version_with_the_old_graph(ada: User) -> None:
    first = import_agent(ada, adder())
    versions.save_graph(first.agent, subtracter())
    back = versions.roll_back(first.agent, 1)
    assert (back.version.version, back.version.note) == (3, "Back to version 1.")
    assert back.report.valid
    assert not compare(parse_graph(first.version.graph), parse_graph(back.version.graph))
    assert [one.version for one in versions.versions_of(first.agent)] == [3, 2, 1]


def test_going_back_brings_the_sub_agents_of_then_back(ada: User) -> None:
    first = import_agent(ada, newsroom())
    versions.save_graph(first.agent, adder())
    back = versions.roll_back(first.agent, 4)
    assert back.report.valid
    assert back.version.sub_agents == first.version.sub_agents
    assert export_version(back.version)["sub_graphs"] == export_version(first.version)["sub_graphs"]


def test_going_back_to_a_version_that_never_was_is_refused(ada: User) -> None:
    with pytest.raises(VersionMissing):
        versions.roll_back(import_agent(ada, adder()).agent, 9)


def test_a_sub_agent_that_comes_again_gets_a_version_of_its_own(ada: User) -> None:
    document = agent([executor("e", "s", [], ["x"])], sub_graphs=[sub_agent("s", [], ["x"], name="Part")])
    first = import_agent(ada, document)
    second = versions.save_graph(first.agent, document)
    parts = Agent.objects.filter(part_of=first.agent)
    assert [part.latest_version for part in parts] == [2]
    ran = [one.graph["nodes"][0]["input_default"]["graph_version"] for one in (first.version, second.version)]
    assert ran == [1, 2]


def test_two_versions_of_one_sub_agent_stay_two(ada: User) -> None:
    subs = [sub_agent("s", [], ["x"], version=number, name=f"Part {number}") for number in (1, 2)]
    document = agent([executor("e", "s", [], ["x"], version=2)], sub_graphs=subs)
    first = import_agent(ada, document)
    second = versions.save_graph(first.agent, document)
    assert second.report.valid
    for version in (first.version, second.version):
        assert len({listed["id"] for listed in version.sub_agents}) == 2


def test_validation_of_today_sees_what_has_gone_since(ada: User) -> None:
    helper = import_agent(ada, sub_agent("helper", [], ["x"]))
    user = import_agent(ada, agent([executor("e", str(helper.agent.pk), [], ["x"])]))
    assert user.report.valid
    library.remove_agent(helper.agent)
    assert not versions.validate_version(versions.get_version(user.agent)).valid


# --- the library --------------------------------------------------------------------------------


def test_renaming_makes_no_version_and_shows_in_exports(ada: User) -> None:
    stored = import_agent(ada, adder())
    library.change_agent(stored.agent, name="Adding machine", description="It adds.")
    assert versions.versions_of(stored.agent).count() == 1
    exported = export_version(versions.get_version(stored.agent))
    assert (exported["name"], exported["description"]) == ("Adding machine", "It adds.")


def test_a_removed_agent_is_gone_with_its_parts_and_its_versions_are_kept(ada: User) -> None:
    heard: list[Agent] = []

    def hear(agent: Agent, **kwargs: Any) -> None:
        heard.append(agent)

    agent_removed.connect(hear)
    stored = import_agent(ada, newsroom())
    part = Agent.objects.filter(part_of=stored.agent).first()
    assert part is not None
    library.remove_agent(stored.agent)
    library.remove_agent(stored.agent)
    agent_removed.disconnect(hear)
    assert heard == [stored.agent]
    for gone in (stored.agent, part):
        with pytest.raises(AgentMissing):
            library.get_agent(ada, gone.pk)
    assert list(library.agents_of(ada)) == []
    assert AgentVersion.objects.filter(agent=stored.agent).exists()


@pytest.mark.parametrize("key", ["nonsense", "", "00000000-0000-0000-0000-000000000000"])
def test_an_agent_that_is_not_there_is_missing(ada: User, key: str) -> None:
    with pytest.raises(AgentMissing):
        library.get_agent(ada, key)


def test_anothers_agent_is_missing(ada: User, bob: User) -> None:
    with pytest.raises(AgentMissing):
        library.get_agent(bob, import_agent(ada, adder()).agent.pk)


# --- differences --------------------------------------------------------------------------------


def test_a_difference_names_nodes_links_and_fields() -> None:
    before, after = adder(), adder(name="Other", unknown=1)
    after["nodes"][1]["input_default"] = {"operation": "Subtract", "b": 34, "round_result": True}
    after["nodes"][1]["metadata"] = {"position": {"x": 1.0, "y": 2.0}}
    after["nodes"][2] = node("result", "Agent Output", name="Sum")
    after["links"] = [after["links"][0] | {"is_static": False}, link("add.result", "result.value")]
    found = compare(parse_graph(before), parse_graph(after)).as_json()
    assert [one["id"] for one in found["nodes"]["added"]] == ["result"]
    assert [one["id"] for one in found["nodes"]["removed"]] == ["out"]
    assert found["nodes"]["changed"][0]["id"] == "add"
    changes = {one["field"]: (one["before"], one["after"]) for one in found["nodes"]["changed"][0]["changes"]}
    assert changes["input_default.operation"] == ("Add", "Subtract")
    assert changes["input_default.round_result"] == (None, True)
    assert "metadata.position" in changes
    assert found["links"]["changed"][0]["changes"] == [{"field": "is_static", "before": True, "after": False}]
    assert (len(found["links"]["added"]), len(found["links"]["removed"])) == (1, 1)
    assert {one["field"] for one in found["graph"]} == {"name", "unknown"}


def test_a_graph_does_not_differ_from_itself_even_with_double_ids() -> None:
    document = adder()
    document["nodes"].append(node("add", "Note", text=""))
    graph = parse_graph(document)
    assert not compare(graph, graph)
