"""Blocks that are not installed: named once each for people, and replaced where a general block does the work."""

from __future__ import annotations

import json
import uuid
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from accounts.models import User
from blocks.foreign_blocks import HOSTS, TABLE, find_foreign, known_elsewhere, nearest_block
from blocks.pins import SEPARATOR
from blocks.registry import get_registry
from blocks.replacements import REPLACEMENTS
from executions.agents.agent_import import import_agent
from executions.agents.repair import fix_graph
from executions.agents.validation import Code, Scope, validate
from executions.graph import parse_graph
from tests.executions.agents.samples import adder, agent, block_id, link, node

GMAIL_SEND, GMAIL_READ = "6c27abc2-e51d-499e-a85f-5a0041ba94f0", "25310c70-b89b-43ba-b25c-4dfa7e2a481c"
EXA, SCRAPE, CODE_STEP = (
    "996cec64-ac40-4dde-982f-b0dc60a5824d",
    "ac444320-cf5e-4697-b586-2604c17a3e75",
    "82b59b8e-ea10-4d57-9161-8b169b0adba6",
)


def foreign(node_id: str, block: str, **values: Any) -> dict[str, Any]:
    return {
        "id": node_id,
        "block_id": block,
        "input_default": values,
        "metadata": {"position": {"x": 0, "y": 0}},
    }


def newsletter() -> dict[str, Any]:
    """Searches, writes, and sends the result to two people; as it would come from AutoGPT."""
    return agent(
        [
            node("topic", "Agent Short Text Input", name="Topic"),
            foreign("search", EXA, number_of_results=3),
            node("write", "AI Text Generator", prompt="Write: {{results}}"),
            foreign("first", GMAIL_SEND, to=["a@example.com"], subject="News"),
            foreign("second", GMAIL_SEND, to=["b@example.com", "c@example.com"], subject="News"),
            node("out", "Agent Output", name="Sent"),
        ],
        [
            link("topic.result", "search.query", is_static=True),
            link("search.results", "write.prompt_values_#_results"),
            link("write.response", "first.body"),
            link("write.response", "second.body"),
            link("first.result_#_id", "out.value"),
            link("search.autoprompt", "out.value"),
        ],
    )


CATEGORIES = {
    *("ai", "basic", "communication", "crm", "data", "developer", "hardware", "input", "multimedia"),
    *("productivity", "safety", "search", "social", "trigger"),
}
NOT_HEXADECIMAL = {  # as AutoGPT has them
    "a4b9c2d1-e5f6-4g7h-8i9j-0k1l2m3n4o5p": "Github List Stargazers",
    "f8a12c8d-3e4b-4d5f-b6a7-8c9d0e1f2g3h": "Slant3D Slicer",
}


def test_the_table_is_well_formed_and_names_no_installed_block() -> None:
    table = known_elsewhere()
    lines = TABLE.read_text().splitlines()[1:]
    assert len(lines) == len(table) and len(table) + len(get_registry()) >= 540
    odd = {id: block.name for id, block in table.items() if not is_uuid(id)}
    assert odd == NOT_HEXADECIMAL
    assert all(block.name and block.provider and block.category in CATEGORIES for block in table.values())
    assert not [block.name for block in table.values() if block.id in get_registry()]
    assert len({block.name for block in table.values()}) == len(table)  # replacements are found by name
    assert set(HOSTS) <= {block.provider for block in table.values()}


def is_uuid(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False


@pytest.mark.parametrize(
    ("block", "name", "category"),
    [
        (GMAIL_SEND, "Gmail Send (Google)", "communication"),
        ("d9291e87-301d-47a8-91fe-907fb55460e5", "Google Sheets Write", "data"),
        ("53e5cf8e-a630-11ef-ba85-df6d666fa5d5", "Twitter Search Recent Tweets (X (Twitter))", "social"),
        ("588a9fde-5733-4da7-b03c-35f5671e960f", "Airtable List Records", "data"),
        ("ee4fe08c-18f9-442f-a985-235379b932e1", "WordPress Create Post", "social"),
        ("b67469b2-7748-4d81-a223-4ebd332cca89", "Agent Mail Send Message (AgentMail)", "communication"),
        ("551e0a35-100b-49b7-89b8-3031322239b6", "Github Star Trigger", "trigger"),
    ],
)
def test_a_known_block_has_its_name_and_category(block: str, name: str, category: str) -> None:
    found = find_foreign(block)
    assert found is not None and (found.label, found.category) == (name, category)


def test_something_near_is_offered_for_every_block_of_an_outside_service() -> None:
    for block in known_elsewhere().values():
        near = nearest_block(block.id)
        assert (near == "") is (block.provider == "AutoGPT"), block
        assert not near or get_registry().get_by_name(near)


def test_every_replacement_names_a_known_block_and_pins_that_exist() -> None:
    names = {block.name for block in known_elsewhere().values()}
    for name, replacement in REPLACEMENTS.items():
        block = get_registry().get_by_name(replacement.block)
        assert name in names
        inputs = {SEPARATOR.split(pin, maxsplit=1)[0] for pin in replacement.inputs.values()}
        outputs = {SEPARATOR.split(pin, maxsplit=1)[0] for pin in replacement.outputs.values()}
        assert inputs | set(replacement.values) <= set(block.inputs_by_name), name
        assert outputs <= set(block.outputs_by_name), name


@pytest.mark.parametrize("name", sorted(REPLACEMENTS))
def test_every_replacement_leaves_an_agent_that_can_run(name: str) -> None:
    [found] = [block for block in known_elsewhere().values() if block.name == name]
    replacement = REPLACEMENTS[name]
    values = {pin: VALUES.get(pin, "text") for pin in replacement.inputs}
    document = agent(
        [
            node("in", "Agent Short Text Input", name="In"),
            foreign("x", found.id, **values),
            node("out", "Agent Output", name="Out"),
        ],
        [
            *(
                link("in.result", f"x.{pin}", is_static=True)
                for pin in replacement.inputs
                if pin not in VALUES
            ),
            *(link(f"x.{pin}", "out.value") for pin in replacement.outputs),
        ],
    )
    graph, fixes = fix_graph(parse_graph(document))
    assert [fix.node_id for fix in fixes if fix.code is Code.UNKNOWN_BLOCK] == ["x"]
    report = validate(graph)
    assert report.valid, [problem.message for problem in report.errors]
    ends = {(one.source_name, one.sink_name) for one in graph.links}
    assert {(pin, "value") for pin in replacement.outputs.values()} <= ends  # two may mean the same pin
    assert {("result", pin) for name, pin in replacement.inputs.items() if name not in VALUES} <= ends


VALUES = {
    "language": "python",
    "timeout": 10,
    "setup_commands": ["true"],
    "max_tokens": 100,
    "limit": 5,
    "private": True,
    "auto_init": True,
    "unfurl_links": False,
    "mrkdwn": True,
    "to": ["a@example.com"],
}


def test_fields_of_a_request_are_gathered_in_its_body() -> None:
    slack = foreign("x", "50cf5290-ec87-4ca1-b7d7-b8b4ef772f6d", channel="#news", mrkdwn=False, username=None)
    document = agent(
        [node("in", "Agent Short Text Input", name="In"), slack],
        [link("in.result", "x.text", is_static=True)],
    )
    graph, _ = fix_graph(parse_graph(document))
    found = graph.node("x")
    assert found is not None and found.input_default == {
        "url": "https://slack.com/api/chat.postMessage",
        "method": "POST",
        "body": {"channel": "#news", "mrkdwn": False},
    }
    assert [one.sink_name for one in graph.links] == ["body_#_text"]


def test_each_missing_block_is_told_once_with_its_name_and_what_can_take_its_place() -> None:
    report = validate(parse_graph(newsletter()))
    told = [one for one in report.errors if one.code is Code.UNKNOWN_BLOCK]
    assert [one.message.partition(" is not installed")[0] for one in told] == [
        "Exa Search",
        "Gmail Send (Google), used by 2 nodes,",
    ]
    assert "Send Email can take its place" in told[1].message
    shown = told[1].as_json()["block"]
    assert (shown["node_ids"], shown["replaceable"], shown["nearest"]) == (
        ["first", "second"],
        True,
        "Send Email",
    )


def test_a_block_in_several_sub_agents_is_told_once() -> None:
    part = agent([foreign("read", GMAIL_READ, query="x")], id="part", name="Part")
    document = agent([foreign("read", GMAIL_READ, query="y")]) | {"sub_graphs": [part]}
    told = [one for one in validate(parse_graph(document)).errors if one.code is Code.UNKNOWN_BLOCK]
    assert [one.message.partition(" is not")[0] for one in told] == ["Gmail Read (Google), used by 2 nodes,"]
    assert "Send Authenticated Web Request" in told[0].message and "operator" in told[0].message


def test_a_block_nobody_knows_keeps_the_name_it_has_on_the_canvas() -> None:
    stranger = foreign("x", "00000000-0000-4000-8000-000000000000") | {
        "metadata": {"customized_name": "Water the plants", "position": {"x": 0, "y": 0}}
    }
    (told,) = [
        one for one in validate(parse_graph(agent([stranger]))).errors if one.code is Code.UNKNOWN_BLOCK
    ]
    assert told.message == (
        "Water the plants is not installed here. Put another block in its place, or ask the operator to install it."
    )


def test_general_blocks_take_the_place_of_missing_ones_with_their_links_and_values() -> None:
    graph, fixes = fix_graph(parse_graph(newsletter()))
    assert [fix.message.partition(".")[0] for fix in fixes if fix.code is Code.UNKNOWN_BLOCK] == [
        "Put Search The Web in the place of Exa Search",
        "Put Send Email in the place of Gmail Send (Google)",
        "Put Send Email in the place of Gmail Send (Google)",
    ]
    second = graph.node("second")
    assert second is not None and second.block_id == block_id("Send Email")
    assert second.input_default == {
        "to_email": "b@example.com, c@example.com",
        "subject": "News",
        "config": {"smtp_server": "smtp.gmail.com", "smtp_port": 587},
    }
    ends = {(one.source_id, one.source_name, one.sink_id, one.sink_name) for one in graph.links}
    assert ("first", "status", "out", "value") in ends  # a part of the result is the whole status
    assert not any(name == "autoprompt" for _, name, _, _ in ends)
    assert validate(graph).valid
    again, more = fix_graph(graph)
    assert (again, more) == (graph, ())


@pytest.mark.parametrize(
    ("block", "values"), [(SCRAPE, {"url": "https://example.com"}), (CODE_STEP, {"step_code": "1"})]
)
def test_pages_and_code_are_replaced_too(block: str, values: dict[str, Any]) -> None:
    graph, _ = fix_graph(parse_graph(agent([foreign("x", block, **values)])))
    assert validate(graph).valid


def test_a_block_the_session_may_not_use_replaces_nothing() -> None:
    scope = Scope(may_use=lambda block: block.name != "Send Email")
    graph, _ = fix_graph(parse_graph(agent([foreign("x", GMAIL_SEND, to=["a@example.com"])])), scope)
    assert graph.nodes[0].block_id == GMAIL_SEND


@pytest.mark.django_db
def test_an_import_that_cannot_run_says_what_is_missing_and_where_to_get_it(
    django_user_model: type[User],
) -> None:
    ada = django_user_model.objects.create(username="ada")
    blocks = list(known_elsewhere().values())
    stored = import_agent(ada, agent([foreign(f"n{n}", one.id) for n, one in enumerate(blocks[::50])]))
    told = [one for one in stored.report.errors if one.missing is not None]
    assert len(told) == len(blocks[::50])
    assert all("repaired" in one.message or "operator" in one.message for one in told), told


def test_the_example_of_the_manual_is_known() -> None:
    found = find_foreign(GMAIL_SEND.upper())
    assert found is not None and found.label == "Gmail Send (Google)"
    assert find_foreign("nonsense") is None


def test_a_folder_of_agents_is_checked_without_importing_them(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(adder()))
    (tmp_path / "b.json").write_text(json.dumps(newsletter()))
    (tmp_path / "c.json").write_text(json.dumps(agent([foreign("read", GMAIL_READ, query="x")])))
    (tmp_path / "d.json").write_text("nonsense")
    said = StringIO()
    call_command("check_agents", str(tmp_path), stdout=said)
    lines = said.getvalue().splitlines()
    assert lines[0] == "a.json: can run"
    assert lines[1].startswith("b.json: can run after a fix: Put Search The Web in the place of Exa Search.")
    assert lines[2:4][0] == "c.json: cannot run yet"
    assert lines[3].strip().startswith("Gmail Read (Google) is not installed here. Reach Google with")
    assert lines[4] == "d.json: not an agent"
    assert lines[-1] == "2 of 4 agents can run here."


def test_a_folder_without_agents_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"no \.json files"):
        call_command("check_agents", str(tmp_path))
