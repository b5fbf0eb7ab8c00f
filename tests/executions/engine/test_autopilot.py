"""The AutoPilot block: a turn of the copilot inside an agent, waited for without a worker, asked for once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import User
from chat.models import Message, Session, Turn
from chat.sub_sessions.runner import read_only
from durable.lifecycle import lifecycle_of
from executions import cancellation
from executions.models import Execution
from tests.executions.conftest import fresh, work_on

pytestmark = pytest.mark.django_db
Make = Callable[..., Execution]
OUT = ("Agent Output", {"name": "y"})


def pilot(**inputs: Any) -> dict[str, Any]:
    return {"pilot": ("AutoPilot", {"prompt": "Tidy up", **inputs}), "out": OUT}


LINKS = ["pilot.response -> out.value"]


def answer(turn: Turn, text: str = "All tidy.", status: str = "completed", error: str = "") -> None:
    """As a worker that has run the turn."""
    turn.steps.create(number=0, attempt=1, parts=[{"kind": "text", "text": text}])
    assert Message.objects.filter(turn=turn, role="assistant").update(text=text) == 1
    Turn.objects.filter(pk=turn.pk).update(status=status, error=error, input_tokens=7, output_tokens=3)
    lifecycle_of(Turn).ended(Turn.objects.get(pk=turn.pk))


def test_it_waits_without_a_worker_and_goes_on_with_the_answer(execution_of: Make, user: User) -> None:
    nodes = pilot() | {"log": ("Agent Output", {"name": "log"}), "use": ("Agent Output", {"name": "use"})}
    links = [*LINKS, "pilot.conversation_history -> log.value", "pilot.token_usage -> use.value"]
    waiting = work_on(execution_of(nodes, links))
    assert waiting.owner == "" and not waiting.is_terminal
    turn = Turn.objects.get()
    assert (turn.user, turn.status, turn.execution_id) == (user, "queued", waiting.pk)
    assert (turn.session.depth, turn.session.parent) == (1, None)
    assert work_on(waiting).outputs == {}, "poked for nothing, it waits on"
    answer(turn)
    done = work_on(waiting)
    assert done.status == "COMPLETED", done.error
    assert done.outputs["y"] == ["All tidy."]
    assert done.outputs["log"] == ["user: Tidy up\nassistant: All tidy."]
    assert done.outputs["use"][0] == {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    assert Turn.objects.count() == 1


def test_a_failed_turn_fails_the_node_with_its_reason(execution_of: Make) -> None:
    waiting = work_on(execution_of(pilot(), LINKS))
    answer(Turn.objects.get(), status="failed", error="The model is away.")
    done = work_on(waiting)
    assert done.status == "FAILED" and "The model is away." in done.error


def test_stopping_the_agent_stops_the_turn(execution_of: Make) -> None:
    waiting = work_on(execution_of(pilot(), LINKS))
    cancellation.stop(waiting.pk)
    assert fresh(waiting).status == "TERMINATED"
    assert Turn.objects.get().status == "cancelled"


def test_a_cancelled_turn_fails_the_node(execution_of: Make) -> None:
    waiting = work_on(execution_of(pilot(), LINKS))
    answer(Turn.objects.get(), status="cancelled")
    done = work_on(waiting)
    assert done.status == "FAILED" and "cancelled" in done.error


def test_it_goes_on_in_a_session_of_the_same_person_only(execution_of: Make, user: User) -> None:
    mine = Session.objects.create(user=user)
    work_on(execution_of(pilot(session_id=str(mine.pk)), LINKS))
    assert Turn.objects.get().session_id == mine.pk
    theirs = Session.objects.create(user=User.objects.create(username="bob"))
    done = work_on(execution_of(pilot(session_id=str(theirs.pk)), LINKS))
    assert done.status == "FAILED" and "not yours" in done.error
    assert not theirs.turns.exists()


def test_it_cannot_go_on_in_the_conversation_that_runs_the_agent(execution_of: Make, user: User) -> None:
    asking = Session.objects.create(user=user)
    done = work_on(execution_of(pilot(session_id=str(asking.pk)), LINKS, session_id=asking.pk))
    assert done.status == "FAILED" and "runs this agent" in done.error


def test_it_may_do_at_most_what_the_conversation_may_and_what_the_block_says(
    execution_of: Make, user: User
) -> None:
    asking = Session.objects.create(user=user)
    nodes = pilot(tools=["web_fetch", "bash_exec"], tools_exclude=False)
    permissions = {"tools": {"allow": None, "deny": ["bash_exec"]}, "blocks": {"allow": None, "deny": []}}
    work_on(execution_of(nodes, LINKS, session_id=asking.pk, permissions=permissions))
    turn = Turn.objects.get()
    assert turn.permissions is not None and turn.permissions["tools"] == {
        "allow": ["bash_exec", "web_fetch"],
        "deny": ["bash_exec"],
    }
    assert (turn.session.parent_id, turn.session.depth) == (asking.pk, 1)


def test_a_dry_run_may_only_look(execution_of: Make) -> None:
    work_on(execution_of(pilot(dry_run=True), LINKS))
    permissions = Turn.objects.get().permissions
    assert permissions is not None
    allowed = permissions["tools"]["allow"]
    assert "search_docs" in allowed and "run_sub_session" not in allowed and "bash_exec" not in allowed
    assert read_only().blocks.allow == frozenset()


@pytest.mark.parametrize(("depth", "most"), [(3, 3), (1, 1)])
def test_copilots_do_not_start_copilots_without_end(
    execution_of: Make, user: User, depth: int, most: int
) -> None:
    asking = Session.objects.create(user=user, depth=depth)
    nodes = pilot(max_recursion_depth=most)
    done = work_on(execution_of(nodes, LINKS, session_id=asking.pk))
    assert done.status == "FAILED" and "too deeply" in done.error
    assert not Turn.objects.exists()
