"""Admission: limits per user and agent, the order of those that wait, and a fair share for every user."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from accounts.models import User
from durable import jobs
from durable.lease import Lease
from durable.models import Pause
from durable.pauses import Pauses, pause
from durable.runtime import runtime
from executions import admission, limits
from executions.models import Agent, Execution
from executions.tasks import run_execution
from tests.executions.conftest import fresh

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


# --- fair share ---------------------------------------------------------------------------------


@pytest.fixture
def poked(monkeypatch: pytest.MonkeyPatch) -> list[uuid.UUID]:
    """Which executions were poked, in order."""
    pokes: list[uuid.UUID] = []
    monkeypatch.setattr("executions.admission.poke", lambda model, pk: pokes.append(pk))
    return pokes


@pytest.fixture
def bob(db: None) -> User:
    return User.objects.create(username="bob")


def claim_and_commit(execution: Execution, commit: Any) -> bool:
    with commit(execute=True):
        return claim(execution)


def test_a_task_runs_the_execution_it_names(agent: Agent) -> None:
    first, second = queue(agent, 2)
    run_execution(str(second.pk))
    assert [fresh(one).status for one in (first, second)] == ["QUEUED", "COMPLETED"]


def test_a_user_with_more_at_work_gives_way_and_the_other_one_is_poked(
    agent: Agent, bob: User, poked: list[uuid.UUID], django_capture_on_commit_callbacks: Any
) -> None:
    run(agent, 3)
    mine, *_ = queue(agent, 5, poked_at=timezone.now())
    [theirs] = queue(agent, user=bob, poked_at=timezone.now())
    assert not claim_and_commit(mine, django_capture_on_commit_callbacks)
    assert poked == [theirs.pk]
    assert (fresh(mine).status, fresh(mine).attempt) == ("QUEUED", 0)
    assert jobs.sweep(Execution) == [mine.pk], "a poke that had no effect is made up for at once"
    assert claim(theirs)
    assert claim(mine), "bob has fewer at work, but none that waits"


@pytest.mark.parametrize("at_work", [0, 1, 2])
def test_users_with_as_many_at_work_do_not_give_way_to_each_other(
    agent: Agent, bob: User, at_work: int, poked: list[uuid.UUID]
) -> None:
    for user in (agent.user, bob):
        run(agent, at_work, user=user)
    [theirs] = queue(agent, user=bob)
    [mine] = queue(agent)
    assert claim(mine) and claim(theirs)
    assert not poked


def test_what_had_started_before_gives_way_to_nobody(agent: Agent, bob: User) -> None:
    run(agent, 3)
    queue(agent, user=bob)
    [due] = queue(agent, status=Execution.WAITING, run_at=timezone.now())
    [left] = run(agent, 1, lease_until=timezone.now() - timedelta(seconds=60))
    assert claim(due) and claim(left)


def test_nobody_gives_way_to_what_cannot_start(agent: Agent, bob: User) -> None:
    """Bob has fewer at work, but his agent has no room: the others wait without a worker."""
    run(agent, 1)
    waiting = {"status": Execution.WAITING, "run_at": timezone.now() + timedelta(hours=1)}
    queue(agent, limits.MAX_RUNNING_EXECUTIONS_PER_AGENT, user=bob, **waiting)
    queue(agent, user=bob)
    [mine] = queue(agent)
    assert claim(mine)


def test_a_sub_agent_of_a_user_with_fewer_at_work_goes_first(
    agent: Agent, bob: User, poked: list[uuid.UUID], django_capture_on_commit_callbacks: Any
) -> None:
    run(agent, 3)
    [parent] = run(agent, 1, user=bob)
    [child] = queue(
        agent, user=bob, parent=parent.nodes.create(node_id="a", block_id="b", run=1, status="RUNNING")
    )
    [mine] = queue(agent)
    assert not claim_and_commit(mine, django_capture_on_commit_callbacks)
    assert poked == [child.pk]


def test_200_of_one_user_never_stand_in_front_of_another(
    agent: Agent, bob: User, poked: list[uuid.UUID], django_capture_on_commit_callbacks: Any
) -> None:
    """Three busy hands, a crowd of pokes for user 1 and one for user 2: user 2 is served at the first free hand."""
    crowd = queue(agent, 200)
    for execution in crowd[:3]:
        assert claim(execution)
    [single] = queue(agent, user=bob)
    assert not claim_and_commit(crowd[3], django_capture_on_commit_callbacks)
    assert poked == [single.pk]
    swept = jobs.sweep(Execution)
    assert single.pk in swept
    assert len(swept) == limits.MAX_RUNNING_EXECUTIONS_PER_AGENT - 3 + 1


class Workers:
    """Hands that take pokes from one queue, which loses some of them; a sweep fills it when it is empty."""

    def __init__(self, agent: Agent, users: list[User], pokes: list[uuid.UUID], chance: Random) -> None:
        self.agent, self.users, self.pokes, self.chance = agent, users, pokes, chance
        self.at_work: list[Lease] = []
        self.sweeps = 0

    def waiting(self) -> set[int]:
        return set(Execution.objects.filter(status="QUEUED").values_list("user_id", flat=True))

    def shares(self) -> Counter[int]:
        return Counter(lease.job.user_id for lease in self.at_work)  # type: ignore[attr-defined]

    def take(self, commit: Any) -> None:
        """One hand takes one poke; none gets a second share while another user waits for the first."""
        if self.chance.random() < 0.2:
            self.pokes.pop(0)  # lost with a worker that died
            return
        with commit(execute=True):
            lease = jobs.claim(Execution, self.pokes.pop(0), owner="w")
        if lease is None:
            return
        shares, user = self.shares(), lease.job.user_id  # type: ignore[attr-defined]
        assert all(shares[user] <= shares[other] for other in self.waiting())
        self.at_work.append(lease)

    def finish_one(self) -> None:
        self.at_work.pop(self.chance.randrange(len(self.at_work))).finish(Execution.COMPLETED, reason="done")

    def work(self, commit: Any, *, hands: int) -> None:
        while self.waiting() or self.at_work:
            if len(self.at_work) == hands or (self.at_work and not self.waiting()):
                self.finish_one()
            elif self.pokes:
                self.take(commit)
            else:
                self.sweeps += 1
                Execution.objects.update(poked_at=None)  # as if the time of a poke were over
                self.pokes += jobs.sweep(Execution, at_most=hands - len(self.at_work))


@pytest.mark.parametrize("seed", range(3))
def test_everything_starts_and_shares_stay_even_however_many_pokes_are_lost(
    agent: Agent,
    bob: User,
    poked: list[uuid.UUID],
    django_capture_on_commit_callbacks: Any,
    settings: Settings,
    seed: int,
) -> None:
    settings.COPILOT_LEASE_SECONDS = 3600.0  # nobody renews them here, and a slow machine takes its time
    users = [agent.user, bob, User.objects.create(username="eve")]
    for user, count in zip(users, (12, 6, 3), strict=True):
        queue(agent, count, user=user)
    workers = Workers(agent, users, poked, Random(seed))
    workers.work(django_capture_on_commit_callbacks, hands=4)
    assert set(Execution.objects.values_list("status", "attempt")) == {("COMPLETED", 1)}
    assert workers.sweeps <= 21 + 10, "most hands found work without waiting for a sweep"


def test_when_one_ends_the_next_of_the_same_user_is_named(agent: Agent) -> None:
    running = run(agent, limits.MAX_RUNNING_EXECUTIONS_PER_AGENT)
    waiting = queue(agent, 2)
    assert admission.next_of(running[0]) == []
    Execution.objects.filter(pk=running[0].pk).update(status=Execution.COMPLETED)
    assert admission.next_of(running[0]) == [waiting[0].pk]


def test_a_paused_person_keeps_nobody_from_starting(agent: Agent, bob: User) -> None:
    """They have the fewest at work and are first in line, but nothing of theirs may start."""
    run(agent, 1)
    [held] = queue(agent, user=bob)
    [mine] = queue(agent)
    assert admission.next_by_fair_share({agent.user_id: 1}, before=agent.user_id) == held.pk
    pause(Pause.Kind.USER, str(bob.pk))
    runtime().pauses = Pauses.read()
    try:
        run_execution(str(mine.pk))
        run_execution(str(held.pk))
    finally:
        runtime().pauses = Pauses()
    assert [fresh(one).status for one in (mine, held)] == ["COMPLETED", "QUEUED"]


def test_pokes_for_a_paused_queue_bring_about_no_others(
    agent: Agent, bob: User, poked: list[uuid.UUID], django_capture_on_commit_callbacks: Any
) -> None:
    run(agent, 1)
    queue(agent, user=bob)
    [mine] = queue(agent)
    runtime().pauses = Pauses(queues=frozenset({Execution.queue}))
    try:
        with django_capture_on_commit_callbacks(execute=True):
            run_execution(str(mine.pk))
    finally:
        runtime().pauses = Pauses()
    assert (poked, fresh(mine).status) == ([], "QUEUED")
