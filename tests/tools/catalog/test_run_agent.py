"""run_agent over ways to name an agent, inputs, statuses and waits."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import User
from blocks.registry import get_registry
from executions.agents import store
from executions.agents.agent_import import import_agent
from executions.models import Agent, Execution, Schedule
from executions.models.status import Status
from tests.executions.people import stored_as
from tests.tools.catalog.conftest import Caller, save_greeter
from tools.permissions import Permissions

pytestmark = pytest.mark.django_db
KEY = "turn:0:call"


def started_before(agent: Agent, status: str) -> Execution:
    """What an earlier attempt of the same call had started, as it stands by now."""
    return Execution.objects.create(
        user=agent.user,
        agent=agent,
        version=1,
        **stored_as(status),
        client_id=f"call:{KEY}",
        outputs={"greeting": ["Hello"]} if status == Status.COMPLETED else {},
        error="the reason" if status in (Status.FAILED, Status.TERMINATED) else "",
    )


ENDS = {
    Status.COMPLETED: ("agent_output", "completed"),
    Status.FAILED: ("error", "failed: the reason"),
    Status.TERMINATED: ("error", "was cancelled: the reason"),
    "REVIEW": ("execution_started", "is waiting for a review"),
    Status.WAITING: ("execution_started", "is still running"),
    Status.RUNNING: ("execution_started", "is still running"),
    Status.QUEUED: ("execution_started", "is queued"),
    Status.INCOMPLETE: ("execution_started", "is still running"),
}


@pytest.mark.parametrize("status", list(ENDS), ids=str)
@pytest.mark.parametrize("named", ["id", "slug"])
def test_a_wait_ends_with_what_the_status_means(
    caller: Caller, greeter: Agent, status: str, named: str
) -> None:
    store.publish(greeter, slug="greeter")
    which = {"library_agent_id": str(greeter.pk)} if named == "id" else {"username_agent_slug": "ada/greeter"}
    execution = started_before(greeter, status)
    found = caller.call("run_agent", key=KEY, inputs={"name": "Eve"}, wait_for_result=0.01, **which)
    kind, words = ENDS[status]
    assert (found["type"], words in found["message"]) == (kind, True), found
    shown = found["execution"] if kind == "agent_output" else found
    assert (shown["execution_id"], shown["status"]) == (str(execution.pk), execution.public_status)
    assert Execution.objects.count() == 1, "the same call started it twice"
    assert caller.channel.waits == 1


def test_without_inputs_it_tells_what_the_agent_takes(caller: Caller, greeter: Agent) -> None:
    found = caller.call("run_agent", library_agent_id=str(greeter.pk))
    assert found["type"] == "agent_details"
    assert found["agent"]["inputs"] == {"name": {"type": "string", "required": False, "default": "World"}}
    assert not Execution.objects.exists()


def test_without_waiting_it_answers_with_the_execution(caller: Caller, greeter: Agent) -> None:
    found = caller.call("run_agent", library_agent_id=str(greeter.pk), use_defaults=True)
    execution = Execution.objects.get()
    assert (found["type"], found["execution_id"]) == ("execution_started", str(execution.pk))
    assert (execution.source, execution.session_id, execution.tell_session) == (
        "chat",
        caller.session_id,
        False,
    )
    assert str(execution.pk) in found["next_step"] and str(execution.pk) not in found["message"]


@pytest.mark.parametrize("wait", [0, 0.01])
def test_the_conversation_is_told_of_the_end_when_it_asked(
    caller: Caller, greeter: Agent, wait: float
) -> None:
    found = caller.call(
        "run_agent", library_agent_id=str(greeter.pk), use_defaults=True, wait_for_result=wait, notify=True
    )
    assert Execution.objects.get().tell_session
    assert "called again when it has ended" in found["next_step"]


def test_a_run_that_ended_while_it_was_waited_for_tells_nobody(caller: Caller, greeter: Agent) -> None:
    execution = started_before(greeter, Status.COMPLETED)
    caller.call(
        "run_agent",
        key=KEY,
        library_agent_id=str(greeter.pk),
        use_defaults=True,
        wait_for_result=1,
        notify=True,
    )
    execution.refresh_from_db()
    assert not execution.tell_session


def test_wrong_inputs_are_named_each_with_its_reason(caller: Caller, greeter: Agent) -> None:
    found = caller.call(
        "run_agent", library_agent_id=str(greeter.pk), inputs={"nme": "Eve", "name": ["a", 1]}
    )
    assert found["type"] == "input_validation_error"
    assert set(found["problems"]) >= {"nme"}
    assert "There is no input 'nme'" in found["message"]
    assert not Execution.objects.exists()


def test_a_store_agent_is_added_when_it_is_run_and_not_before(caller: Caller, bob: User) -> None:
    store.publish(save_greeter(bob), slug="greeter")
    assert caller.call("run_agent", username_agent_slug="bob/greeter")["type"] == "agent_details"
    assert not Agent.objects.filter(user=caller.user).exists()
    found = caller.call("run_agent", username_agent_slug="bob/greeter", use_defaults=True)
    assert found["type"] == "execution_started"
    assert Agent.objects.get(user=caller.user).listing is not None


def test_missing_credentials_are_asked_for_before_anything_runs(caller: Caller) -> None:
    block = get_registry().get_by_name("Send Email").id
    mail = {
        "to_email": "a@example.com",
        "subject": "Hi",
        "body": "Hello",
        "config": {"smtp_server": "mail.example.com", "smtp_port": 25},
    }
    graph = {"name": "Mailer", "nodes": [{"id": "m", "block_id": block, "input_default": mail}], "links": []}
    assert caller.user is not None
    agent = import_agent(caller.user, graph).agent
    found = caller.call("run_agent", library_agent_id=str(agent.pk))
    assert (found["type"], found["missing_credentials"][0]["provider"]) == ("setup_requirements", "smtp")
    assert not Execution.objects.exists()


def test_a_block_the_session_may_not_use_keeps_its_agent_from_running(ada: User, greeter: Agent) -> None:
    caller = Caller(ada, Permissions.parse({"blocks": {"deny": ["Fill Text Template"]}}))
    found = caller.call("run_agent", library_agent_id=str(greeter.pk), use_defaults=True)
    assert (found["error"], "Fill Text Template" in found["message"]) == ("block_denied", True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "either library_agent_id or username_agent_slug"),
        ({"library_agent_id": "x", "username_agent_slug": "a/b"}, "either library_agent_id"),
        ({"library_agent_id": "x", "schedule_name": "Daily"}, "needs cron"),
        ({"library_agent_id": "x"}, "There is no agent 'x'"),
        ({"username_agent_slug": "a/b"}, "There is no agent 'a/b' in the store"),
    ],
    ids=["none", "both", "name alone", "unknown id", "unknown slug"],
)
def test_a_call_that_names_no_agent_says_how_to(
    caller: Caller, arguments: dict[str, Any], words: str
) -> None:
    found = caller.call("run_agent", **arguments)
    assert (found["type"], words in found["message"]) == ("error", True), found


def test_cron_makes_a_schedule_once_per_call_and_lists_it(caller: Caller, greeter: Agent) -> None:
    arguments = {
        "library_agent_id": str(greeter.pk),
        "inputs": {"name": "Eve"},
        "cron": "0 9 * * mon-fri",
        "schedule_name": "Mornings",
    }
    found = caller.call("run_agent", key=KEY, **arguments)
    again = caller.call("run_agent", key=KEY, **arguments)
    schedule = Schedule.objects.get()
    assert found["schedule_id"] == again["schedule_id"] == str(schedule.pk)
    assert (schedule.timezone, schedule.version, schedule.inputs) == ("Europe/Paris", None, {"name": "Eve"})
    assert "Monday through Friday" in found["message"]
    listed = caller.call("list_schedules")
    assert [row["name"] for row in listed["schedules"]] == ["Mornings"]
    assert caller.call("delete_schedule", schedule_id=str(schedule.pk))["type"] == "schedule_deleted"
    assert caller.call("list_schedules")["count"] == 0


@pytest.mark.parametrize("cron", ["every day", "99 * * * *"])
def test_a_cron_expression_that_is_none_says_what_one_looks_like(
    caller: Caller, greeter: Agent, cron: str
) -> None:
    found = caller.call("run_agent", library_agent_id=str(greeter.pk), use_defaults=True, cron=cron)
    assert (found["type"], "0 9 * * mon-fri" in found["message"]) == ("error", True), found
    assert not Schedule.objects.exists()


def test_schedules_of_others_cannot_be_deleted(caller: Caller, greeter: Agent, bob: User) -> None:
    made = caller.call("run_agent", library_agent_id=str(greeter.pk), use_defaults=True, cron="0 9 * * *")
    found = Caller(bob).call("delete_schedule", schedule_id=made["schedule_id"])
    assert (found["error"], Schedule.objects.count()) == ("not_found", 1)
