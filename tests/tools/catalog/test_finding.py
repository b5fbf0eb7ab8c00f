"""Finding agents and blocks, the guide, and checking graphs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from accounts.models import User
from blocks.registry import get_registry
from executions.agents import store
from executions.generator.example import example_graph
from executions.graph import graph_to_json
from executions.models import Agent
from tests.tools.catalog.conftest import Caller, save_greeter
from tools import limits, registry, schema
from tools.permissions import Permissions
from workspace.preview import KeepsNothing, show

pytestmark = pytest.mark.django_db
SMALL_CONTEXT_CHARACTERS = 24_000


def test_the_library_is_searched_with_typos_in_any_order_and_by_id(caller: Caller, greeter: Agent) -> None:
    for arguments in ({"query": "greter"}, {"query": "by name person"}, {"agent_id": str(greeter.pk)}, {}):
        found = caller.call("find_library_agent", **arguments)
        assert [card["library_agent_id"] for card in found["agents"]] == [str(greeter.pk)], arguments
    assert found["agents"][0]["inputs"]["name"]["default"] == "World"
    assert found["agents"][0]["outputs"] == {"greeting": "string"}
    assert found["agents"][0]["link"] == f"/library/agents/{greeter.pk}"


def test_what_is_not_there_is_no_result_with_something_to_do(caller: Caller, bob: User) -> None:
    theirs = save_greeter(bob)
    for name, arguments in (
        ("find_library_agent", {"query": "greeter"}),
        ("find_library_agent", {"agent_id": str(theirs.pk)}),
        ("find_library_agent", {}),
        ("find_agent", {"query": "greeter"}),
        ("find_block", {"query": "qqqqqqq"}),
    ):
        found = caller.call(name, **arguments)
        assert (found["type"], bool(found["suggestions"])) == ("no_results", True), (name, arguments)


def test_the_store_shows_what_is_already_in_the_library(caller: Caller, bob: User) -> None:
    store.publish(save_greeter(bob), slug="greeter")
    card = caller.call("find_agent", query="greeter")["agents"][0]
    assert (card["username_agent_slug"], card["library_agent_id"]) == ("bob/greeter", None)
    caller.call("run_agent", username_agent_slug="bob/greeter", use_defaults=True)
    card = caller.call("find_agent", query="bob/greeter")["agents"][0]
    assert card["library_agent_id"] == str(Agent.objects.get(user=caller.user).pk)


@pytest.mark.parametrize("name", ["find_agent", "find_library_agent", "find_block"])
def test_a_search_term_of_more_than_100_characters_is_a_clear_error(caller: Caller, name: str) -> None:
    found = caller.call(name, query="x" * 101)
    assert (found["type"], "at most 100 characters" in found["message"]) == ("error", True)


def test_a_block_is_found_with_its_pins_and_whether_it_runs_alone(caller: Caller) -> None:
    found = caller.call("find_block", query="calculator")
    card = found["blocks"][0]
    assert (card["name"], card["required"], card["can_run_alone"]) == (
        "Calculator",
        ["operation", "a", "b"],
        True,
    )
    assert len(found["blocks"]) <= limits.FOUND_IN_CHAT
    assert caller.call("find_block", query=card["id"])["count"] == 1


def test_blocks_a_session_may_not_use_are_neither_found_nor_in_the_guide(ada: User) -> None:
    caller = Caller(ada, Permissions.parse({"blocks": {"deny": ["Calculator"]}}))
    names = [card["name"] for card in caller.call("find_block", query="calculator").get("blocks", [])]
    assert "Calculator" not in names
    assert "Calculator |" not in "".join(caller.call("get_agent_building_guide")["blocks"].values())


def test_the_guide_fits_a_small_context_and_reaches_the_model_uncut(caller: Caller) -> None:
    guide = caller.call("get_agent_building_guide")
    size = len(json.dumps(guide, ensure_ascii=False))
    print(f"The guide has {size:,} characters.")
    assert size <= SMALL_CONTEXT_CHARACTERS
    assert show(guide, KeepsNothing(), name="guide") == guide, "a part of it is cut on its way to the model"


def test_the_guide_names_every_block_and_its_example_can_run(caller: Caller) -> None:
    guide = caller.call("get_agent_building_guide")
    index = "\n".join(guide["blocks"].values())
    assert [block.name for block in get_registry() if f"{block.name} | {block.id} |" not in index] == []
    example = json.loads(guide["example"].partition("\n")[2])
    assert caller.call("validate_agent_graph", agent_json=example)["valid"]


def test_all_schemas_together_stay_under_the_limit(db: None) -> None:
    sizes = {tool.name: schema.size(tool) for tool in registry.discover().all()}
    print(sizes)
    assert sum(sizes.values()) < limits.MAX_TOOL_SCHEMA_CHARACTERS


# --- checking ---------------------------------------------------------------------------------------


def broken() -> dict[str, Any]:
    graph = graph_to_json(example_graph(get_registry()))
    graph["nodes"][1]["block_id"] = "Fill Text Template"
    graph["links"][1]["source_name"] = "outputt"
    graph["links"][0]["is_static"] = False
    graph["nodes"].append(
        {"id": "x", "block_id": "00000000-0000-4000-8000-000000000000", "input_default": {}}
    )
    return graph


@pytest.mark.parametrize("as_text", [False, True])
def test_every_problem_is_told_at_once_and_what_is_safe_is_mended(caller: Caller, as_text: bool) -> None:
    given: Any = json.dumps(broken()) if as_text else broken()
    report = caller.call("validate_agent_graph", agent_json=given)
    assert not report["valid"]
    assert {problem["code"] for problem in report["errors"]} >= {"unknown_block"}
    fixed = caller.call("fix_agent_graph", agent_json=given)
    assert len(fixed["fixes"]) >= 3
    assert {problem["node_id"] for problem in fixed["errors"]} == {"x"}, "only the invented block is left"
    assert fixed["agent_json"]["links"][1]["source_name"] == "output"


@pytest.mark.parametrize("given", ["", "no json", "[1]", {}, {"nodes": 3}], ids=str)
def test_what_is_no_agent_json_is_said_so(caller: Caller, given: Any) -> None:
    for name in ("validate_agent_graph", "fix_agent_graph"):
        found = caller.call(name, agent_json=given)
        assert (found["type"], found["error"]) == ("error", "try_again"), found
