"""Imports: every rule of old and new exports, and nothing secret kept."""

from __future__ import annotations

import json
from typing import Any

import pytest

from accounts.models import User
from executions import limits
from executions.agents import library, versions
from executions.agents.agent_import import import_agent
from executions.agents.errors import GraphTooLarge, NotAGraph
from executions.agents.save import Stored
from executions.agents.validation import Code
from executions.models import Agent, AgentVersion
from tests.executions.agents.samples import (
    EXPORTS,
    adder,
    agent,
    executor,
    link,
    newsroom,
    node,
    old_discord_template,
    research_crew,
    sub_agent,
    win_back_email,
)

KEY = "sk-live-0123456789abcdefghij"


def codes(stored: Stored) -> set[str]:
    return {one.code for one in (*stored.report.errors, *stored.report.warnings)}


def values_of(stored: Stored, node_id: str) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in stored.version.graph["nodes"] if one["id"] == node_id)
    return dict(found["input_default"])


@pytest.mark.parametrize("name", EXPORTS)
def test_every_export_is_kept_with_its_report_and_its_unknown_fields(ada: User, name: str) -> None:
    document = EXPORTS[name]()
    stored = import_agent(ada, document)
    assert stored.agent.imported_id == document["id"]
    assert stored.version.version == stored.agent.latest_version == document["version"]
    assert [one["id"] for one in stored.version.graph["nodes"]] == [one["id"] for one in document["nodes"]]
    assert stored.version.graph.get("x_from_the_future") == document.get("x_from_the_future")
    assert stored.version.problems == [one.as_json() for one in stored.report.errors]
    assert list(library.agents_of(ada)) == [stored.agent]


@pytest.mark.parametrize("make", [adder, win_back_email, research_crew, newsroom])
def test_exports_whose_blocks_are_here_can_run(ada: User, make: Any) -> None:
    stored = import_agent(ada, make())
    assert stored.report.errors == ()
    assert stored.version.is_valid


def test_an_old_template_says_what_is_missing_and_loses_its_key(ada: User) -> None:
    stored = import_agent(ada, old_discord_template())
    assert [one.code for one in stored.report.errors] == [Code.UNKNOWN_BLOCK]
    assert "api_key" not in values_of(stored, "ai")
    assert stored.version.graph["subgraphs"] == {}
    assert {Code.SECRET_REMOVED, Code.OLD_NAME} <= codes(stored)


def test_each_import_is_an_agent_of_its_own(ada: User, bob: User) -> None:
    first, second, third = (import_agent(user, adder()) for user in (ada, ada, bob))
    assert len({first.agent.pk, second.agent.pk, third.agent.pk}) == 3
    assert list(library.agents_of(bob)) == [third.agent]


def test_versions_go_on_counting_where_the_agent_comes_from(ada: User) -> None:
    stored = import_agent(ada, adder(version=7))
    later = versions.save_graph(stored.agent, adder(version=7) | {"extra": 1})
    assert (stored.version.version, later.version.version) == (7, 8)


@pytest.mark.parametrize("number", [0, -3, 10**9])
def test_a_version_number_out_of_range_begins_at_one(ada: User, number: int) -> None:
    assert import_agent(ada, adder(version=number)).version.version == 1


def test_a_document_in_an_envelope_is_taken_out(ada: User) -> None:
    assert import_agent(ada, {"graph": adder()}).agent.name == "Sample"


def test_a_name_is_made_and_cut_where_needed(ada: User) -> None:
    assert import_agent(ada, adder(name="  ")).agent.name == "Untitled agent"
    long = import_agent(ada, adder(name="x" * 300, description="y" * 30_000)).agent
    assert len(long.name) == limits.MAX_AGENT_NAME_CHARACTERS
    assert len(long.description) == limits.MAX_AGENT_DESCRIPTION_CHARACTERS


def test_links_without_ids_get_some(ada: User) -> None:
    document = adder()
    for one in document["links"]:
        del one["id"]
    stored = import_agent(ada, document)
    assert stored.report.warnings == ()
    assert len({one["id"] for one in stored.version.graph["links"]}) == 2


# --- sub-agents ---------------------------------------------------------------------------------


def test_sub_agents_are_found_by_version_and_names_when_their_ids_were_given_anew(ada: User) -> None:
    stored = import_agent(ada, newsroom())
    parts = {part.name: part for part in Agent.objects.filter(part_of=stored.agent)}
    assert set(parts) == {"Writer", "Researcher", "Checker"}
    ran = {key: values_of(stored, key) for key in ("research", "write", "check")}
    assert ran["research"]["graph_id"] == str(parts["Researcher"].pk)
    assert ran["write"]["graph_id"] == str(parts["Writer"].pk)
    assert ran["check"]["graph_id"] == str(parts["Checker"].pk)
    assert [ran[key]["graph_version"] for key in ran] == [2, 5, 1]
    assert stored.version.sub_agents == [
        {"id": str(parts[name].pk), "version": version}
        for name, version in (("Writer", 5), ("Researcher", 2), ("Checker", 1))
    ]


def test_sub_agents_are_not_listed_but_can_be_opened(ada: User, bob: User) -> None:
    stored = import_agent(ada, newsroom())
    part = Agent.objects.filter(part_of=stored.agent).first()
    assert part is not None
    assert list(library.agents_of(ada)) == [stored.agent]
    assert library.get_agent(ada, part.pk) == part
    assert versions.get_version(part).is_valid


def test_a_sub_agent_by_its_right_id_is_taken_before_one_by_its_names(ada: User) -> None:
    document = agent(
        [executor("e", "s2", [], ["x"], version=9)],
        sub_graphs=[
            sub_agent("s1", [], ["x"], version=9, name="by names"),
            sub_agent("s2", [], ["x"], name="by id"),
        ],
    )
    stored = import_agent(ada, document)
    assert Agent.objects.get(pk=values_of(stored, "e")["graph_id"]).name == "by id"


def test_of_two_that_fit_the_name_on_the_node_decides(ada: User) -> None:
    subs = [sub_agent("a", [], ["x"], name="Cats"), sub_agent("b", [], ["x"], name="Dogs")]
    document = agent([executor("e", "old", [], ["x"], agent_name="Dogs")], sub_graphs=subs)
    stored = import_agent(ada, document)
    assert Agent.objects.get(pk=values_of(stored, "e")["graph_id"]).name == "Dogs"


def test_two_that_fit_equally_are_not_guessed(ada: User) -> None:
    subs = [sub_agent("a", [], ["x"]), sub_agent("b", [], ["x"])]
    stored = import_agent(ada, agent([executor("e", "old", [], ["x"])], sub_graphs=subs))
    assert values_of(stored, "e")["graph_id"] == "old"
    assert Code.SUB_AGENT_NOT_FOUND in codes(stored)


def test_sub_agents_of_sub_agents_are_joined_too(ada: User) -> None:
    inner = sub_agent("inner", ["q"], ["a"], name="Inner")
    outer = sub_agent("outer", ["q"], ["a"], name="Outer")
    outer["nodes"].append(executor("deep", "forgotten", ["q"], ["a"], inputs={"q": "why"}))
    document = agent([executor("e", "outer", ["q"], ["a"], inputs={"q": "how"})], sub_graphs=[outer, inner])
    stored = import_agent(ada, document)
    made = {part.name: part for part in Agent.objects.filter(part_of=stored.agent)}
    deep = next(one for one in versions.get_version(made["Outer"]).graph["nodes"] if one["id"] == "deep")
    assert deep["input_default"]["graph_id"] == str(made["Inner"].pk)


def test_a_node_without_schemas_gets_those_of_its_agent(ada: User) -> None:
    bare = node("e", "Agent Executor", graph_id="s", graph_version=1, topic="cats")
    document = agent([bare], sub_graphs=[sub_agent("s", ["topic"], ["x"])])
    stored = import_agent(ada, document)
    assert set(values_of(stored, "e")["input_schema"]["properties"]) == {"topic"}
    assert stored.report.errors == ()


def test_an_agent_of_the_library_can_be_run_by_its_id_or_by_the_id_it_came_with(ada: User, bob: User) -> None:
    known = import_agent(ada, sub_agent("known", [], ["x"]))
    for graph_id in (str(known.agent.pk), "known"):
        stored = import_agent(ada, agent([executor("e", graph_id, [], ["x"])]))
        assert values_of(stored, "e")["graph_id"] == str(known.agent.pk)
        assert stored.report.errors == ()
        assert Code.SUB_AGENT_NOT_FOUND in codes(
            import_agent(bob, agent([executor("e", graph_id, [], ["x"])]))
        )


def test_an_agent_that_runs_one_that_cannot_run_says_so(ada: User) -> None:
    broken = import_agent(ada, old_discord_template())
    stored = import_agent(ada, agent([executor("e", str(broken.agent.pk), [], ["Sent"])]))
    assert [one.code for one in stored.report.errors] == [Code.SUB_AGENT_INVALID]
    assert "Send Discord Message is not installed here" in stored.report.errors[0].message


def test_an_agent_may_run_itself_by_its_id(ada: User) -> None:
    document = adder(id="self")
    document["nodes"].append(executor("again", "self", ["Number"], ["Sum"], inputs={"Number": 1}))
    stored = import_agent(ada, document)
    assert values_of(stored, "again")["graph_id"] == str(stored.agent.pk)
    assert stored.report.errors == ()


# --- secrets ------------------------------------------------------------------------------------


def secretive() -> dict[str, Any]:
    nodes = [
        node("llm", "AI Text Generator", prompt="hi", api_key=KEY),
        node(
            "web",
            "Send Web Request",
            url="https://example.com",
            headers={"Authorization": f"Bearer {KEY}", "A": "b"},
        ),
        node(
            "auth",
            "Send Authenticated Web Request",
            url="https://example.com",
            credentials={"id": "c1", "provider": "http", "type": "api_key", "title": "t", "api_key": KEY},
        ),
        node("hook", "Generic Webhook Trigger", secret_token=KEY, constants={"a": {"password": KEY}}),
        node("ask", "Agent Short Text Input", name="API key", value=KEY),
        node("hidden", "Agent Short Text Input", name="Anything", value=KEY, secret=True),
        {"id": "far", "block_id": "elsewhere", "input_default": {"token": KEY}, "metadata": {}},
    ]
    nodes[0]["webhook"] = {"secret": KEY}
    return agent(nodes, user_id="somebody", settings={"access_token": KEY})


def test_no_secret_of_a_file_is_kept(ada: User) -> None:
    stored = import_agent(ada, secretive())
    assert KEY not in json.dumps(list(AgentVersion.objects.values_list("graph", flat=True)))
    assert KEY not in json.dumps(stored.report.as_json())
    removed = {(one.node_id, one.pin) for one in stored.report.warnings if one.code is Code.SECRET_REMOVED}
    assert removed >= {
        ("llm", "api_key"),
        ("web", "headers.Authorization"),
        ("auth", "credentials"),
        ("hook", "secret_token"),
        ("hook", "constants.a.password"),
        ("ask", "value"),
        ("hidden", "value"),
        ("far", "token"),
    }
    assert values_of(stored, "web")["headers"] == {"A": "b"}
    assert values_of(stored, "auth")["credentials"] == {
        "id": "c1",
        "provider": "http",
        "type": "api_key",
        "title": "t",
    }
    assert "user_id" not in stored.version.graph


def test_what_only_sounds_secret_is_kept(ada: User) -> None:
    wanted = {"password": "the password of the user, if there is one", "token": "text"}
    nodes = [
        node("json", "AI Structured Response Generator", prompt="x", expected_format=wanted),
        node(
            "web", "Send Web Request", url="https://example.com", headers={"Authorization": "Bearer {{key}}"}
        ),
        node("in", "Agent Input", name="x", secret=False),
    ]
    stored = import_agent(ada, agent(nodes))
    assert values_of(stored, "json")["expected_format"] == wanted
    assert values_of(stored, "web")["headers"] == {"Authorization": "Bearer {{key}}"}
    assert Code.SECRET_REMOVED not in codes(stored)


# --- what is refused ----------------------------------------------------------------------------


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("document", "error", "said"),
    [
        ({}, NotAGraph, "nodes"),
        (None, NotAGraph, "null"),
        (agent([node("n", "Note", text=float("nan"))]), NotAGraph, "NaN"),
        (agent([node("n", "Note", text=float("inf"))]), NotAGraph, "infinity"),
        (agent([node("n", "Note", text=2**70)]), NotAGraph, "64 bits"),
        (agent([node("n", "Note", text=1e300)]), NotAGraph, "64 bits"),
        (agent([node("n", "Note", text=deep(200))]), NotAGraph, "nested deeper than 100"),
        (agent([node("n", "Note", text=deep(5_000))]), NotAGraph, "nested deeper than 100"),
        (agent([node("n", "Note", text={1: 2})]), NotAGraph, "which is not text"),
        (agent([node("n", "Note", text=object())]), NotAGraph, "no JSON form"),
        (agent([{"id": ["a"]}]), NotAGraph, "nodes[0].id is a list"),
        (agent([{"id": str(n)} for n in range(10_000)]), GraphTooLarge, "10,000 nodes; at most 2,000"),
        (agent([], [link("a.b", "c.d")] * 20_000), GraphTooLarge, "links; at most 10,000"),
        (agent([], sub_graphs=[agent([], id=str(n)) for n in range(101)]), GraphTooLarge, "101 sub-agents"),
        (agent([node("n", "Note", text="x" * 600_000)]), GraphTooLarge, "'text' on the node 'n'"),
        (agent([node("n", "Note", text=["x" * 400_000] * 20)]), GraphTooLarge, "larger than 4 MB"),
    ],
    ids=lambda value: "" if isinstance(value, dict) else None,
)
def test_what_cannot_be_an_agent_is_refused_and_nothing_is_kept(
    ada: User, document: Any, error: type[Exception], said: str
) -> None:
    with pytest.raises(error) as refused:
        import_agent(ada, document)
    assert said in str(refused.value)
    assert not Agent.objects.exists()


def test_text_no_database_takes_is_mended(ada: User) -> None:
    stored = import_agent(ada, agent([node("n", "Note", text="a\0b\ud800")]))
    assert values_of(stored, "n")["text"] == "a\ufffdb\ufffd"
