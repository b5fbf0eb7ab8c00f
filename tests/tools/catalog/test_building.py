"""create_agent, edit_agent and customize_agent with the offline model over the wire, and with an outside generator."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from pytest_django import Settings

from accounts.models import Budget, LedgerEntry, User
from blocks.registry import get_registry
from boundary import limits as boundary_limits
from executions import limits
from executions.agents import store
from executions.agents.diff import compare
from executions.agents.versions import save_graph
from executions.generator.example import example_graph
from executions.generator.external import allowed_outside
from executions.graph import graph_to_json, parse_graph
from executions.models import Agent, AgentVersion
from tests.offline_server import OfflineServer
from tests.tools.catalog.conftest import Caller, save_greeter
from tests.tools.catalog.outside_generator import Queue, Service, running_service
from tools import registry
from tools.base import OutsideAnswer
from tools.errors import AcceptedElsewhere

pytestmark = pytest.mark.django_db
GREETER = graph_to_json(example_graph(get_registry()))


@pytest.fixture(scope="module")
def model_server() -> Iterator[OfflineServer]:
    with OfflineServer() as server:
        yield server


@pytest.fixture(autouse=True)
def model(model_server: OfflineServer, settings: Settings) -> OfflineServer:
    settings.OPENAI_BASE_URL = model_server.url
    settings.OPENAI_API_KEY = "offline"
    settings.COPILOT_MODEL = "offline"
    settings.AGENT_GENERATOR_URL = ""
    model_server.reset()
    return model_server


@pytest.fixture
def service(settings: Settings) -> Iterator[Service]:
    with running_service() as running:
        settings.AGENT_GENERATOR_URL = running.url
        settings.INTERNAL_API_KEY = "the key"
        yield running


# --- from words ---------------------------------------------------------------------------------------


def test_an_agent_is_built_saved_and_linked_with_honest_progress(caller: Caller) -> None:
    made = caller.call("create_agent", description="greets people by name")
    agent = Agent.objects.get()
    assert (made["type"], made["agent_id"], made["library_agent_link"]) == (
        "agent_saved",
        str(agent.pk),
        f"/library/agents/{agent.pk}",
    )
    assert (agent.source, agent.versions.get().is_valid) == ("generated", True)
    told = [(shown["progress"], shown["message"]) for shown in caller.channel.shown]
    assert [share for share, _ in told] == sorted(share for share, _ in told)
    assert told[0][1] == "Splitting the goal into steps"
    assert told[-1][1] == "Saving the agent"


def test_a_preview_saves_nothing_and_its_json_can_be_saved(caller: Caller) -> None:
    shown = caller.call("create_agent", description="greets people by name", save=False)
    assert (shown["type"], Agent.objects.count()) == ("agent_preview", 0)
    made = caller.call("create_agent", agent_json=shown["agent_json"])
    assert (made["type"], Agent.objects.get().source) == ("agent_saved", "created")


def test_a_missing_thing_is_asked_for_and_the_answer_is_used(caller: Caller) -> None:
    asked = caller.call("create_agent", description="translates a text")
    assert (asked["type"], asked["questions"][0]["keyword"]) == ("clarification_needed", "language")
    made = caller.call("create_agent", description="translates a text", context="Into French.")
    assert made["type"] == "agent_saved"
    prompts = [node["input_default"].get("prompt", "") for node in AgentVersion.objects.get().graph["nodes"]]
    assert any("French" in prompt for prompt in prompts)


@pytest.mark.parametrize("goal", ["helps me", "makes coffee"])
def test_a_goal_that_cannot_be_built_gets_a_better_one(caller: Caller, goal: str) -> None:
    found = caller.call("create_agent", description=goal)
    assert (found["type"], bool(found["suggested_goal"]), found["original_goal"]) == (
        "suggested_goal",
        True,
        goal,
    )
    assert not Agent.objects.exists()


def test_the_same_call_again_finds_what_it_made_and_asks_no_model(
    caller: Caller, model: OfflineServer
) -> None:
    first = caller.call("create_agent", key="one call", description="greets people by name")
    asked = len(model.requests)
    tool = registry.current().get("create_agent")
    assert tool is not None and tool.lookup is not None
    found = tool.lookup(
        tool.args.model_validate({"description": "greets people by name"}), caller.context("one call")
    )
    assert found is not None and found.agent_id == first["agent_id"]  # type: ignore[attr-defined]
    again = caller.call("create_agent", key="one call", description="greets people by name")
    assert (again["agent_id"], Agent.objects.count()) == (first["agent_id"], 1)
    assert len(model.requests) > asked


def test_each_question_to_the_model_is_charged_once(caller: Caller, settings: Settings) -> None:
    caller.call("create_agent", key="k", description="greets people by name")
    caller.call("create_agent", key="k", description="greets people by name", save=False)
    assert LedgerEntry.objects.filter(kind="model").count() == 2


def test_over_budget_nothing_is_built_and_it_is_said(caller: Caller, ada: User) -> None:
    Budget.objects.update_or_create(user=ada, defaults={"day_limit": Decimal(0)})
    found = caller.call("create_agent", description="greets people by name")
    assert (found["type"], found["error"]) == ("error", "over_budget")


def test_agents_of_the_library_are_offered_and_missing_ones_are_told(
    caller: Caller, greeter: Agent, model: OfflineServer
) -> None:
    made = caller.call(
        "create_agent", description="counts the words of a text", library_agent_ids=[str(greeter.pk), "gone"]
    )
    assert "Not in the library, so not used: gone." in made["notes"]
    assert str(greeter.pk) in json.dumps(model.requests[-1].body)


def test_an_agent_is_built_upon_another(caller: Caller, greeter: Agent) -> None:
    goal = "runs my greeting agent and counts the words"
    made = caller.call("create_agent", description=goal, library_agent_ids=[str(greeter.pk)])
    assert (made["type"], set(made["inputs"]), set(made["outputs"])) == (
        "agent_saved",
        {"name"},
        {"greeting", "word_count"},
    )
    version = AgentVersion.objects.exclude(agent=greeter).get()
    (node,) = [node for node in version.graph["nodes"] if "graph_id" in node["input_default"]]
    assert node["input_default"]["graph_id"] == str(greeter.pk)


@pytest.mark.parametrize(
    "given",
    [{}, {"description": " "}, {"description": "x", "agent_json": GREETER}],
    ids=["none", "blank", "both"],
)
def test_one_way_of_saying_it_is_needed(caller: Caller, given: dict[str, Any]) -> None:
    found = caller.call("create_agent", **given)
    assert (found["error"], "either description or agent_json" in found["message"]) == (
        "invalid_arguments",
        True,
    )


def test_json_that_cannot_run_is_refused_with_every_problem(caller: Caller) -> None:
    graph = {**GREETER, "nodes": [*GREETER["nodes"], {"id": "x", "block_id": "invented"}]}
    found = caller.call("create_agent", agent_json=graph)
    assert (found["error"], found["problems"][0]["node_id"]) == ("invalid_agent", "x")
    assert not Agent.objects.exists()


def test_a_model_that_never_manages_leaves_its_last_draft_without_secrets(
    caller: Caller, model: OfflineServer
) -> None:
    node = {"id": "x", "block_id": "invented", "input_default": {"api_key": "sk-" + "a" * 40}}
    draft = json.dumps({"name": "Bad", "nodes": [node], "links": []})
    model.play({"id": "bad", "steps": [{"text": draft}]}, contains="Goal:")
    model.play({"id": "bad2", "steps": [{"text": draft}]}, contains="It cannot run yet")
    found = caller.call("create_agent", description="greets people by name")
    assert (found["error"], found["agent_json"]["nodes"][0]["block_id"]) == ("not_built", "invented")
    assert "sk-aaa" not in json.dumps(found)


# --- changed ------------------------------------------------------------------------------------------


def test_an_edit_is_a_new_version_in_which_only_that_changed(caller: Caller) -> None:
    made = caller.call("create_agent", description="summarises a web page")
    edited = caller.call("edit_agent", agent_id=made["agent_id"], changes="also count the words")
    assert (edited["type"], edited["version"], edited["agent_id"]) == ("agent_saved", 2, made["agent_id"])
    before, after = (parse_graph(row.graph) for row in AgentVersion.objects.order_by("version"))
    difference = compare(before, after)
    assert len(difference.nodes.added) == 2 and not difference.nodes.changed and not difference.nodes.removed
    assert "word_count" in edited["outputs"]


def test_an_edit_as_json_keeps_places_and_ids_of_what_is_the_same(caller: Caller, greeter: Agent) -> None:
    drawn = json.loads(json.dumps(GREETER))
    for node in drawn["nodes"]:
        node["id"] = f"renamed-{node['id']}"
        node.pop("metadata")
    for link in drawn["links"]:
        link |= {
            "source_id": f"renamed-{link['source_id']}",
            "sink_id": f"renamed-{link['sink_id']}",
            "id": "",
        }
    drawn["nodes"][1]["input_default"]["format"] = "Good day {{name}}!"
    edited = caller.call("edit_agent", agent_id=str(greeter.pk), agent_json=drawn)
    assert edited["version"] == 2, edited
    before, after = (parse_graph(row.graph) for row in greeter.versions.order_by("version"))
    difference = compare(before, after)
    assert {node["id"] for node in difference.nodes.removed} == {"greet"}, "the other two kept their ids"


def test_a_new_name_needs_no_new_version(caller: Caller, greeter: Agent) -> None:
    edited = caller.call("edit_agent", agent_id=str(greeter.pk), changes="rename it to Morning hello")
    greeter.refresh_from_db()
    assert (edited["type"], greeter.name, greeter.latest_version) == ("agent_saved", "Morning hello", 1)


def test_an_agent_is_not_its_own_building_block(caller: Caller, greeter: Agent, model: OfflineServer) -> None:
    caller.call(
        "edit_agent",
        agent_id=str(greeter.pk),
        changes="also count the words",
        library_agent_ids=[str(greeter.pk)],
    )
    assert "Agents that may be run" not in json.dumps(model.requests[-1].body)


def test_an_agent_somebody_changed_meanwhile_is_not_overwritten(caller: Caller, greeter: Agent) -> None:
    from tools.agent_builder import build_from_json
    from tools.catalog.edit_agent import Args, build_request
    from tools.errors import ToolError

    context = caller.context()
    order = build_request(Args(agent_id=str(greeter.pk), changes="x"), context)
    changed = json.loads(json.dumps(GREETER))
    changed["nodes"][1]["input_default"]["format"] = "Hi {{name}}"
    save_graph(greeter, changed)
    changed["nodes"][1]["input_default"]["format"] = "Ho {{name}}"
    with pytest.raises(ToolError) as refused:
        build_from_json(order, parse_graph(changed), context)
    assert refused.value.reply()["error"] == "not_saved"
    assert refused.value.details["agent_json"]["nodes"][1]["input_default"]["format"] == "Ho {{name}}"


def test_agents_of_others_cannot_be_edited(caller: Caller, bob: User) -> None:
    theirs = save_greeter(bob)
    found = caller.call("edit_agent", agent_id=str(theirs.pk), changes="also count the words")
    assert found["error"] == "not_found"


def test_a_store_agent_becomes_ones_own_with_changes(caller: Caller, bob: User) -> None:
    store.publish(save_greeter(bob), slug="greeter")
    made = caller.call("customize_agent", store_slug="bob/greeter", modifications="also count the words")
    assert made["type"] == "agent_saved", made
    own = Agent.objects.get(user=caller.user)
    assert (own.listing, set(made["outputs"])) == (None, {"greeting", "word_count"})


# --- outside ------------------------------------------------------------------------------------------


def test_an_outside_generator_builds_it_at_once(
    caller: Caller, service: Service, model: OfflineServer
) -> None:
    service.answers = {
        "/api/decompose": (200, {"success": True, "type": "instructions", "steps": ["Greet"]}),
        "/api/generate-agent": (200, {"success": True, "agent_json": GREETER}),
    }
    made = caller.call("create_agent", description="greets people")
    assert made["type"] == "agent_saved"
    assert model.requests == [], "the site's own model was not needed"
    paths = [path for path, _, _ in service.asked]
    assert paths == ["/health", "/api/decompose", "/api/generate-agent"]
    _, body, headers = service.asked[2]
    assert body["instructions"] == ["Greet"]
    assert body["operation_id"] and body["completion_url"].endswith("/complete")
    assert headers["x-api-key"] == "the key"


@pytest.mark.parametrize(("seconds", "is_waited_for"), [(60.0, True), (0.2, False)])
def test_an_answer_is_waited_for_as_long_as_the_operator_says(
    caller: Caller,
    service: Service,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    seconds: float,
    is_waited_for: bool,
) -> None:
    """Longer than requests to anywhere else may take."""
    monkeypatch.setattr(boundary_limits, "MAX_FETCH_SECONDS", 0.2)
    settings.AGENT_GENERATOR_TIMEOUT_SECONDS = seconds
    service.thinks_for = 1.0
    service.answers = {
        "/api/decompose": (200, {"success": True, "type": "instructions", "steps": ["Greet"]}),
        "/api/generate-agent": (200, {"success": True, "agent_json": GREETER}),
    }
    made = caller.call("create_agent", description="greets people by name")
    assert made["type"] == "agent_saved", made
    assert any("cannot be reached" in note for note in made["notes"]) is not is_waited_for


def test_no_answer_is_waited_for_longer_than_an_operation_may_take() -> None:
    assert allowed_outside("http://generator.internal/").max_seconds == limits.MAX_OPERATION_SECONDS


def test_an_outside_generator_may_take_its_time(caller: Caller, service: Service, greeter: Agent) -> None:
    service.answers = {"/api/update-agent": (202, {"status": "accepted"})}
    tool = registry.current().get("edit_agent")
    assert tool is not None and tool.receive is not None
    args = tool.args.model_validate({"agent_id": str(greeter.pk), "changes": "be louder"})
    context = caller.context()
    with pytest.raises(AcceptedElsewhere):
        tool.run(args, context)
    louder = json.loads(json.dumps(GREETER))
    louder["nodes"][1]["input_default"]["format"] = "HELLO {{name}}!"
    made = tool.receive(args, OutsideAnswer(success=True, result={"agent_json": louder}), context)
    assert made.type == "agent_saved" and greeter.versions.count() == 2


@pytest.mark.parametrize(
    "answers",
    [
        {},
        {"/api/decompose": (500, {})},
        {"/api/decompose": (200, b"<html>")},
        {"/api/decompose": (200, [1])},
        {"/api/decompose": (200, {"success": False, "error": "out of ideas"})},
        {
            "/api/decompose": (200, {"type": "instructions", "steps": []}),
            "/api/generate-agent": (200, {"agent_json": 3}),
        },
    ],
    ids=["404", "500", "html", "list", "failure", "nonsense"],
)
def test_a_broken_outside_generator_is_made_up_for(
    caller: Caller, service: Service, answers: dict[str, tuple[int, Any]]
) -> None:
    service.answers = answers
    made = caller.call("create_agent", description="greets people by name")
    assert made["type"] == "agent_saved"
    assert any("external generator" in note for note in made["notes"]), made["notes"]


def test_an_outside_generator_that_is_down_is_made_up_for(caller: Caller, settings: Settings) -> None:
    settings.AGENT_GENERATOR_URL = "http://127.0.0.1:9"
    made = caller.call("create_agent", description="greets people by name")
    assert (made["type"], "cannot be reached" in made["notes"][0]) == ("agent_saved", True)


@pytest.mark.parametrize(
    "answer",
    [
        OutsideAnswer(success=False, error="no idea"),
        OutsideAnswer(success=False, late=True),
        OutsideAnswer(success=True, result="nonsense"),
    ],
    ids=["failed", "late", "nonsense"],
)
def test_a_late_failure_outside_is_made_up_for(caller: Caller, answer: OutsideAnswer) -> None:
    tool = registry.current().get("create_agent")
    assert tool is not None and tool.receive is not None
    made = tool.receive(
        tool.args.model_validate({"description": "greets people by name"}), answer, caller.context()
    )
    assert made.type == "agent_saved"


def test_questions_from_outside_reach_the_person(caller: Caller, service: Service) -> None:
    questions = [{"question": "Which one?", "keyword": "which"}]
    service.answers = {"/api/decompose": (200, {"type": "clarifying_questions", "questions": questions})}
    found = caller.call("create_agent", description="greets people by name")
    assert (found["type"], found["questions"]) == ("clarification_needed", questions)


# --- AutoGPT's Agent Generator ------------------------------------------------------------------------

READY = {"/health": (200, {"status": "healthy", "blocks_loaded": True})}
STEPS = [{"step_number": 1, "action": "add", "block_name": "Fill Text Template", "description": "Greet"}]
DECOMPOSED = {"/api/decompose-description": (200, {"success": True, "type": "instructions", "steps": STEPS})}
GENERATED = {"/api/generate-agent": (200, {"success": True, "agent_json": GREETER})}


@pytest.mark.parametrize("chosen", ["auto", "autogpt"])
def test_autogpts_generator_is_spoken_to_at_its_own_addresses(
    caller: Caller, service: Service, settings: Settings, model: OfflineServer, chosen: str
) -> None:
    settings.AGENT_GENERATOR_API = chosen
    service.answers = (READY if chosen == "auto" else {}) | DECOMPOSED | GENERATED
    made = caller.call("create_agent", description="greets people", context="By name.")
    assert (made["type"], made["notes"], model.requests) == ("agent_saved", [], [])
    asked = {path: body for path, body, _ in service.asked}
    assert (
        asked["/api/decompose-description"]["description"] == "greets people\n\nAdditional context:\nBy name."
    )
    assert asked["/api/generate-agent"]["instructions"] == {"type": "instructions", "steps": STEPS}
    assert asked["/api/generate-agent"]["operation_id"] and asked["/api/generate-agent"]["task_id"]
    assert ("/health" in asked) is (chosen == "auto")


def test_autogpts_generator_changes_and_adapts_agents(
    caller: Caller, service: Service, greeter: Agent, bob: User
) -> None:
    louder = json.loads(json.dumps(GREETER))
    louder["nodes"][1]["input_default"]["format"] = "HELLO {{name}}!"
    made = {"success": True, "agent_json": louder}
    service.answers = READY | {"/api/update-agent": (200, made), "/api/template-modification": (200, made)}
    assert caller.call("edit_agent", agent_id=str(greeter.pk), changes="be louder")["version"] == 2
    store.publish(save_greeter(bob), slug="greeter")
    adapted = caller.call("customize_agent", store_slug="bob/greeter", modifications="be louder")
    assert adapted["type"] == "agent_saved"
    bodies = {path: body for path, body, _ in service.asked}
    assert bodies["/api/update-agent"]["update_request"] == "be louder"
    assert bodies["/api/template-modification"]["template_agent_json"]["nodes"]


def test_autogpts_generator_may_accept_and_answer_later(caller: Caller, service: Service) -> None:
    service.answers = READY | DECOMPOSED | {"/api/generate-agent": (202, {"status": "accepted"})}
    tool = registry.current().get("create_agent")
    assert tool is not None and tool.receive is not None
    args = tool.args.model_validate({"description": "greets people by name"})
    with pytest.raises(AcceptedElsewhere):
        tool.run(args, caller.context())
    made = tool.receive(args, OutsideAnswer(success=True, result={"agent_json": GREETER}), caller.context())
    assert made.type == "agent_saved"


def test_a_job_that_is_polled_is_waited_for(
    caller: Caller, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "GENERATOR_POLL_SECONDS", 0.01)
    plan = {"type": "instructions", "steps": STEPS}
    jobs = Queue([{"status": "running"}, {"status": "completed", "result": plan}])
    service.answers = READY | {
        "/api/decompose-description": (202, {"job_id": "j/1"}),
        "/api/jobs/j%2F1": (200, jobs),
        "/api/generate-agent": (202, {"job_id": "j2"}),
        "/api/jobs/j2": (200, {"status": "completed", "result": {"agent_json": GREETER}}),
    }
    made = caller.call("create_agent", description="greets people")
    assert (made["type"], made["notes"]) == ("agent_saved", [])


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ({"/health": (200, {"status": "healthy", "blocks_loaded": False})}, "is still starting."),
        (
            READY | {"/api/decompose-description": (200, {"type": "error", "error": "Quota is used up"})},
            "failed: Quota is used up.",
        ),
        (
            READY | {"/api/decompose-description": (200, {"success": False, "error": "No blocks!"})},
            "failed: No blocks!",
        ),
        (READY | {"/api/decompose-description": (503, {})}, "answered with status 503."),
        (READY | {"/api/decompose-description": (200, b"<html>")}, "did not answer with JSON."),
        (READY | {"/api/decompose-description": (200, b"x" * (9 * 1024 * 1024))}, "cannot be reached"),
        (READY | {"/api/decompose-description": (202, {"status": "accepted"})}, "it must answer at once."),
        (
            READY
            | {
                "/api/decompose-description": (202, {"job_id": "j"}),
                "/api/jobs/j": (200, {"status": "failed", "error": "It broke"}),
            },
            "failed: It broke.",
        ),
        (
            READY
            | {"/api/decompose-description": (202, {"job_id": "j"}), "/api/jobs/j": (200, {"status": "odd"})},
            "unknown status 'odd'.",
        ),
    ],
    ids=["starting", "error", "failure", "503", "html", "huge", "202", "job failed", "odd job"],
)
def test_autogpts_generator_keeps_its_words_when_it_fails(
    caller: Caller, service: Service, monkeypatch: pytest.MonkeyPatch, answers: dict[str, Any], words: str
) -> None:
    monkeypatch.setattr(limits, "GENERATOR_POLL_SECONDS", 0.01)
    service.answers = answers
    made = caller.call("create_agent", description="greets people by name")
    assert made["type"] == "agent_saved", made
    (note,) = made["notes"]
    assert words in note and note.endswith(" This site's own model built it instead."), note


def test_a_generator_that_is_too_slow_is_made_up_for(
    caller: Caller, service: Service, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "GENERATOR_POLL_SECONDS", 0.01)
    settings.AGENT_GENERATOR_API = "autogpt"
    settings.AGENT_GENERATOR_TIMEOUT_SECONDS = 1.0
    service.answers = {
        "/api/decompose-description": (202, {"job_id": "j"}),
        "/api/jobs/j": (200, {"status": "running"}),
    }
    made = caller.call("create_agent", description="greets people by name")
    assert (made["type"], "did not finish in time." in made["notes"][0]) == ("agent_saved", True)


# --- agents that exist already --------------------------------------------------------------------


def test_fitting_agents_of_library_and_store_are_offered(caller: Caller, ada: User, bob: User) -> None:
    save_greeter(ada, name="People greeter", description="Greets people by name.")
    theirs = save_greeter(bob, name="Greets people", description="Greets people by name.")
    store.publish(theirs, slug="greets-people")
    made = caller.call("create_agent", description="greets people by name")
    assert made["type"] == "agent_saved"
    offered = {(card["source"], card["name"]) for card in made["similar_agents"]}
    assert offered == {("library", "People greeter"), ("store", "Greets people")}
    assert "similar_agents" in made["next_step"] and "similar_agents" not in made["message"]
    assert "the store" in caller.channel.sources


def test_agents_that_do_something_else_are_not_offered(caller: Caller, greeter: Agent) -> None:
    made = caller.call("create_agent", description="counts the words of a text")
    assert (made["type"], made["similar_agents"], caller.channel.sources) == ("agent_saved", [], ())


@pytest.mark.parametrize("name", ["create_agent", "edit_agent", "validate_agent_graph", "fix_agent_graph"])
def test_gated_tools_say_that_the_guide_comes_first(name: str) -> None:
    tool = registry.current().get(name)
    assert tool is not None
    assert "get_agent_building_guide first" in " ".join(tool.description.split())
