"""Who may start: limits per user and agent, the order of those who wait, and nobody in front of others."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import User
from durable import jobs, limits
from durable.pausing import Pauses
from durable.runtime import runtime
from executions import line
from executions.models import Agent, Execution
from executions.tasks import run_execution

pytestmark = pytest.mark.django_db


@pytest.fixture
def agent(make_agent: Callable[..., Agent]) -> Agent:
    return make_agent({"a": ("Store Value", {"input": 1})})


def queue(agent: Agent, count: int = 1, *, user: User | None = None, **facts: Any) -> list[Execution]:
    values = {"version": 1, "status": Execution.QUEUED} | facts
    owner = user or agent.user
    return [Execution.objects.create(user=owner, agent=agent, **values) for _ in range(count)]


def run(agent: Agent, count: int, **facts: Any) -> list[Execution]:
    held: dict[str, Any] = {
        "status": Execution.RUNNING,
        "owner": "w",
        "lease_until": timezone.now() + timedelta(seconds=60),
    }
    return queue(agent, count, **(held | facts))


def claim(execution: Execution) -> bool:
    return jobs.claim(Execution, execution.pk, owner="w") is not None


def test_the_26th_waits_and_starts_when_one_has_ended(agent: Agent) -> None:
    running = run(agent, limits.MAX_RUNNING_EXECUTIONS_PER_AGENT)
    [waiting] = queue(agent)
    assert not claim(waiting)
    assert not jobs.to_poke(Execution).filter(pk=waiting.pk).exists()
    Execution.objects.filter(pk=running[0].pk).update(status=Execution.COMPLETED)
    assert jobs.to_poke(Execution).filter(pk=waiting.pk).exists()
    assert claim(waiting)


def test_another_agent_of_the_same_user_has_room_of_its_own(
    agent: Agent, make_agent: Callable[..., Agent]
) -> None:
    run(agent, limits.MAX_RUNNING_EXECUTIONS_PER_AGENT)
    [other] = queue(make_agent({"a": ("Store Value", {"input": 1})}))
    assert claim(other)


def test_those_who_wait_start_in_the_order_they_came(agent: Agent) -> None:
    run(agent, limits.MAX_RUNNING_EXECUTIONS_PER_AGENT - 1)
    first, second = queue(agent, 2)
    assert list(jobs.to_poke(Execution).values_list("pk", flat=True)) == [first.pk]
    assert not claim(second)
    assert claim(first)


def test_sub_agents_are_part_of_their_parents_run(agent: Agent) -> None:
    [parent] = run(agent, 1)
    run(agent, limits.MAX_RUNNING_EXECUTIONS_PER_AGENT - 1)
    row = parent.nodes.create(node_id="a", block_id="b", run=1, status="RUNNING")
    [child] = queue(agent, parent=row)
    assert jobs.to_poke(Execution).filter(pk=child.pk).exists()
    assert claim(child)


def test_a_user_holds_only_a_share_of_the_workers(agent: Agent, make_agent: Callable[..., Agent]) -> None:
    for _ in range(2):
        run(make_agent({"a": ("Store Value", {"input": 1})}), limits.MAX_HELD_EXECUTIONS_PER_USER // 2)
    [waiting] = queue(agent)
    assert not claim(waiting)
    assert not jobs.to_poke(Execution).filter(pk=waiting.pk).exists()
    Execution.objects.filter(status=Execution.RUNNING).update(owner="")  # they wait without a worker now
    assert claim(waiting)


def test_what_a_dead_worker_held_is_not_counted(agent: Agent, make_agent: Callable[..., Agent]) -> None:
    dead = timezone.now() - timedelta(seconds=60)
    left = run(
        make_agent({"a": ("Store Value", {"input": 1})}),
        limits.MAX_HELD_EXECUTIONS_PER_USER,
        lease_until=dead,
    )
    [waiting] = queue(agent)
    assert claim(waiting)
    assert claim(left[0])


def test_a_free_worker_takes_the_execution_of_whoever_has_the_fewest_at_work(agent: Agent) -> None:
    run(agent, 3)
    mine = queue(agent, 5)
    assert line.next_in_line(Execution, mine[0].pk) == mine[0].pk
    other = User.objects.create(username="bob")
    [theirs] = queue(agent, user=other)
    assert line.next_in_line(Execution, mine[0].pk) == theirs.pk
    assert line.next_in_line(Execution, theirs.pk) == theirs.pk


def test_a_poke_for_one_that_is_not_queued_stays_with_it(agent: Agent) -> None:
    [running] = run(agent, 1)
    queue(agent, user=User.objects.create(username="bob"))
    assert line.next_in_line(Execution, running.pk) == running.pk


def test_200_of_one_user_never_stand_in_front_of_another(agent: Agent) -> None:
    """Three free hands, a crowd of pokes for user 1 and one for user 2: user 2 is served at the first free hand."""
    crowd = queue(agent, 200)
    for execution in crowd[:3]:
        assert claim(execution)
    [single] = queue(agent, user=User.objects.create(username="bob"))
    hand_set_free = line.next_in_line(Execution, crowd[3].pk)
    assert hand_set_free == single.pk
    poked = jobs.sweep(Execution)
    assert single.pk in poked
    assert len(poked) == limits.MAX_RUNNING_EXECUTIONS_PER_AGENT - 3 + 1


def test_when_one_ends_the_next_of_the_same_user_is_named(agent: Agent) -> None:
    running = run(agent, limits.MAX_RUNNING_EXECUTIONS_PER_AGENT)
    waiting = queue(agent, 2)
    assert line.next_of(running[0]) == []
    Execution.objects.filter(pk=running[0].pk).update(status=Execution.COMPLETED)
    assert line.next_of(running[0]) == [waiting[0].pk]


def test_a_paused_person_keeps_nobody_from_starting(agent: Agent) -> None:
    """They have the fewest at work and are first in line, but nothing of theirs may start."""
    run(agent, 1)
    bob = User.objects.create(username="bob")
    [held] = queue(agent, user=bob)
    [mine] = queue(agent)
    assert line.next_in_line(Execution, mine.pk) == held.pk
    runtime().pauses = Pauses(users=frozenset({str(bob.pk)}))
    try:
        run_execution(str(mine.pk))
        run_execution(str(held.pk))
    finally:
        runtime().pauses = Pauses()
    mine.refresh_from_db()
    held.refresh_from_db()
    assert (mine.status, held.status) == (Execution.COMPLETED, Execution.QUEUED)


def test_pokes_for_a_paused_queue_bring_about_no_others(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(agent, 1)
    queue(agent, user=User.objects.create(username="bob"))
    [mine] = queue(agent)
    monkeypatch.setattr("executions.tasks.poke", lambda *words: pytest.fail("poked"))
    runtime().pauses = Pauses(queues=frozenset({Execution.queue}))
    try:
        run_execution(str(mine.pk))
    finally:
        runtime().pauses = Pauses()
