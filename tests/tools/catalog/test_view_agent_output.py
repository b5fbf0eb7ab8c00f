"""view_agent_output over every way to name an agent, every time, every status, waiting or not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import User
from executions.agents import store
from executions.agents.library import remove_agent
from executions.models import Agent, Execution
from executions.models.status import Status
from tests.executions.people import stored_as
from tests.tools.catalog.conftest import Caller, save_greeter
from workspace.preview import KeepsNothing, show

pytestmark = pytest.mark.django_db
WAITS = (0, 0.01)
MESSAGES = {
    Status.COMPLETED: "completed. Outputs: greeting",
    Status.FAILED: "failed: the reason",
    Status.TERMINATED: "was cancelled: the reason",
    "REVIEW": "is waiting for a review",
    Status.WAITING: "is still running",
    Status.RUNNING: "is still running",
    Status.QUEUED: "is queued",
    Status.INCOMPLETE: "is still running",
}


def ran(agent: Agent, status: str, ago: timedelta = timedelta(0)) -> Execution:
    execution = Execution.objects.create(
        user=agent.user,
        agent=agent,
        version=1,
        **stored_as(status),
        outputs={"greeting": ["Hello"]} if status == Status.COMPLETED else {},
        error="the reason" if status in (Status.FAILED, Status.TERMINATED) else "",
    )
    Execution.objects.filter(pk=execution.pk).update(queued_at=timezone.now() - ago)
    execution.refresh_from_db()
    return execution


def ways_to_name(agent: Agent, execution: Execution) -> dict[str, dict[str, Any]]:
    listing = store.publish(agent, slug="greeter")
    return {
        "id": {"library_agent_id": str(agent.pk)},
        "slug": {"store_slug": f"ada/{listing.slug}"},
        "name": {"agent_name": "greter"},
        "run": {"execution_id": str(execution.pk)},
        "id and run": {"library_agent_id": str(agent.pk), "execution_id": str(execution.pk)},
        "id before name": {"library_agent_id": str(agent.pk), "agent_name": "nonsense"},
    }


def times(execution: Execution) -> dict[str, tuple[str | None, bool]]:
    """Words, and whether a run of this very moment is among them."""
    now = execution.queued_at
    return {
        "none": (None, True),
        "latest": ("latest", True),
        "today": ("today", True),
        "yesterday": ("yesterday", False),
        "last 7 days": ("last 7 days", True),
        "30 days": ("last 30 days", True),
        "24 hours": ("past 24 hours", True),
        "3 days ago": ("3 days ago", False),
        "iso": (now.isoformat(), True),
        "other iso": ((now - timedelta(hours=5)).isoformat(), False),
    }


@pytest.mark.parametrize("status", list(MESSAGES), ids=str)
@pytest.mark.parametrize("wait", WAITS)
def test_every_name_and_time_finds_what_counts_and_says_how_it_stands(
    caller: Caller, greeter: Agent, status: str, wait: float
) -> None:
    execution = ran(greeter, status)
    for way, named in ways_to_name(greeter, execution).items():
        for when, (words, is_in) in times(execution).items():
            arguments = named | ({"run_time": words} if words else {})
            found = caller.call("view_agent_output", wait_if_running=wait, **arguments)
            by_id = "execution_id" in named
            counts = by_id or (is_in and (wait > 0 or status == Status.COMPLETED))
            place = f"{way}, {when}"
            if counts:
                assert found["type"] == "agent_output", (place, found)
                assert found["execution"]["execution_id"] == str(execution.pk), place
                assert MESSAGES[status] in found["message"], (place, found["message"])
                assert found["total_executions"] == 1, place
            else:
                assert found["type"] == "no_results", (place, found)
                assert found["suggestions"], place


def test_a_run_of_yesterday_is_found_by_the_clock_of_the_person(caller: Caller, greeter: Agent) -> None:
    """Paris is ahead of UTC: half past midnight there is yesterday in UTC, and not for this person."""
    noon = datetime.now(caller.user.zone).replace(hour=12, minute=0)  # type: ignore[union-attr]
    early = ran(greeter, Status.COMPLETED)
    moment = (noon.replace(hour=0, minute=30) - timedelta(days=1)).astimezone(UTC)
    Execution.objects.filter(pk=early.pk).update(queued_at=moment)
    found = caller.call("view_agent_output", agent_name="greeter", run_time="yesterday")
    assert found["execution"]["execution_id"] == str(early.pk)
    assert caller.call("view_agent_output", agent_name="greeter", run_time="today")["type"] == "no_results"
    day = f"{noon - timedelta(days=1):%Y-%m-%d}"
    assert caller.call("view_agent_output", agent_name="greeter", run_time=day)["type"] == "agent_output"


def test_of_several_runs_the_newest_is_shown_and_five_are_listed(caller: Caller, greeter: Agent) -> None:
    runs = [ran(greeter, Status.COMPLETED, timedelta(minutes=minutes)) for minutes in range(7)]
    found = caller.call("view_agent_output", library_agent_id=str(greeter.pk))
    assert found["execution"]["execution_id"] == str(runs[0].pk)
    assert [row["execution_id"] for row in found["available_executions"]] == [str(run.pk) for run in runs[:5]]
    assert found["total_executions"] == 7
    assert "7 runs match" in found["message"]


def test_the_nodes_are_shown_only_when_asked_for(caller: Caller, greeter: Agent) -> None:
    run = ran(greeter, Status.COMPLETED)
    run.nodes.create(node_id="greet", block_id="b", run=0, status=Status.COMPLETED)
    assert caller.call("view_agent_output", execution_id=str(run.pk))["execution"]["nodes"] is None
    found = caller.call("view_agent_output", execution_id=str(run.pk), show_execution_details=True)
    assert [node["node_id"] for node in found["execution"]["nodes"]] == ["greet"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ({}, "try_again", "library_agent_id, store_slug, agent_name, or the execution_id"),
        ({"agent_name": "  "}, "try_again", "No agent was named"),
        ({"library_agent_id": "no uuid"}, "not_found", "There is no agent 'no uuid'"),
        ({"store_slug": "nobody/nothing"}, "not_found", "in the store"),
        ({"store_slug": "no slash"}, "try_again", "username/slug"),
        ({"execution_id": "no uuid"}, "not_found", "There is no execution"),
        (
            {"agent_name": "greeter", "run_time": "the day the music died"},
            "unknown_time",
            "is not a known time",
        ),
        ({"agent_name": "x" * 101}, "invalid_arguments", "at most 100 characters"),
    ],
    ids=["nothing", "blank", "bad id", "no listing", "bad slug", "bad run", "nonsense time", "long name"],
)
def test_what_cannot_be_understood_is_said_so(
    caller: Caller, greeter: Agent, arguments: dict[str, Any], code: str, words: str
) -> None:
    ran(greeter, Status.COMPLETED)
    found = caller.call("view_agent_output", **arguments)
    assert (found["type"], found["error"]) == ("error", code)
    assert words in f"{found['message']} {found.get('next_step')}"


def test_an_agent_of_the_store_that_was_never_added_says_so(caller: Caller, bob: User) -> None:
    store.publish(save_greeter(bob), slug="greeter")
    found = caller.call("view_agent_output", store_slug="bob/greeter")
    assert (found["error"], "not in the library" in found["message"]) == ("not_in_library", True)


def test_runs_and_agents_of_others_do_not_exist(caller: Caller, bob: User) -> None:
    theirs = ran(save_greeter(bob), Status.COMPLETED)
    assert caller.call("view_agent_output", execution_id=str(theirs.pk))["error"] == "not_found"
    assert caller.call("view_agent_output", library_agent_id=str(theirs.agent_id))["error"] == "not_found"
    assert caller.call("view_agent_output", agent_name="greeter")["type"] == "no_results"


def test_a_run_of_another_agent_is_not_this_agents(caller: Caller, greeter: Agent) -> None:
    other = ran(save_greeter(greeter.user, name="Other"), Status.COMPLETED)
    found = caller.call("view_agent_output", library_agent_id=str(greeter.pk), execution_id=str(other.pk))
    assert (found["error"], "of the agent 'Greeter'" in found["message"]) == ("not_found", True)


def test_secrets_in_outputs_are_not_shown(caller: Caller, greeter: Agent) -> None:
    """Of the agent and of its nodes, whose outputs go by the names of their pins."""
    execution = ran(greeter, Status.COMPLETED)
    Execution.objects.filter(pk=execution.pk).update(outputs={"token": ["s3cret"], "greeting": ["Hello"]})
    pairs = [["token", "s3cret"], ["result", {"api_key": "s3cret"}], ["result", "Hello"]]
    execution.nodes.create(node_id="a", block_id="b", run=1, status="COMPLETED", outputs=pairs)
    found = caller.call("view_agent_output", execution_id=str(execution.pk), show_execution_details=True)
    shown = show(found, KeepsNothing(), name="result")["execution"]
    assert shown["outputs"] == {"token": "[REDACTED]", "greeting": ["Hello"]}
    expected = [["token", "[REDACTED]"], ["result", {"api_key": "[REDACTED]"}], ["result", "Hello"]]
    assert shown["nodes"][0]["outputs"] == expected


@pytest.mark.parametrize("by", ["id", "run"])
def test_the_runs_of_a_removed_agent_are_shown_without_a_dead_link(
    caller: Caller, greeter: Agent, by: str
) -> None:
    execution = ran(greeter, Status.COMPLETED)
    remove_agent(greeter)
    named = {"library_agent_id": f" {greeter.pk} "} if by == "id" else {"execution_id": str(execution.pk)}
    found = caller.call("view_agent_output", **named)
    assert found["type"] == "agent_output"
    assert "no longer in the library" in found["message"]
    assert found["library_agent_link"] is None
    assert found["execution"]["link"] == f"/library/runs/{execution.pk}"


def test_a_removed_agent_without_runs_says_that_it_was_removed(caller: Caller, greeter: Agent) -> None:
    remove_agent(greeter)
    found = caller.call("view_agent_output", library_agent_id=str(greeter.pk))
    assert found["type"] == "no_results"
    assert "no longer in the library" in found["message"] and not any(
        "run_agent" in h for h in found["suggestions"]
    )


def test_a_removed_agent_of_someone_else_does_not_exist(caller: Caller, bob: User) -> None:
    theirs = save_greeter(bob)
    remove_agent(theirs)
    assert caller.call("view_agent_output", library_agent_id=str(theirs.pk))["error"] == "not_found"
