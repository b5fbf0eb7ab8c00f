"""Thousands of interleavings of claim, heartbeat, commit, sweep and cancel, against a model of what they mean."""

from __future__ import annotations

import inspect
import os
import random
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.db.models import Count
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from durable import jobs, limits
from durable.errors import LeaseLost
from durable.lease import Lease
from tests.durable.conftest import START
from tests.durable.fixed_clock import FixedClock
from tests.durable.testjobs.models import Chore, Tick
from tests.tiers import examples

EXAMPLES = examples(int(os.environ.get("COPILOT_TEST_EXAMPLES", "15")))
LEASE = 3.0
LONG_AFTER = 100_000.0
WORKERS = st.sampled_from(["a", "b", "c"])
PICK = st.integers(0, 999)


@dataclass
class Expected:
    """What must be true of one job."""

    status: str = "queued"
    attempt: int = 0
    crashes: int = 0
    holder: Lease | None = None  # the only lease that may write
    owner: str = ""
    lease_until: float | None = None
    run_at: float = 0.0
    cancel_requested: bool = False
    ticks: int = 0
    end: tuple[Any, ...] | None = None
    worker_lost: bool = False

    def left_behind(self, now: float) -> bool:
        return self.status == "running" and (self.lease_until is None or self.lease_until < now)

    def exhausted(self) -> bool:
        return bool(self.owner) and self.crashes >= limits.MAX_ATTEMPTS - 1

    def claimable(self, now: float) -> bool:
        if self.status == "queued":
            return True
        if self.status == "waiting":
            return self.run_at <= now or self.cancel_requested
        return self.left_behind(now) and not self.exhausted() and self.rested(now)

    def rested(self, now: float) -> bool:
        if not self.owner or not self.crashes or self.lease_until is None or self.cancel_requested:
            return True
        return bool(now > self.lease_until + LEASE * 2 ** (self.crashes - 1))

    def is_suspect(self) -> bool:
        return self.status == "running" and self.crashes >= limits.SUSPECT_CRASHES

    def give_away(self, status: str) -> None:
        self.status, self.holder, self.owner, self.lease_until = status, None, "", None


@dataclass(eq=False)
class Held:
    """A lease some worker believes to hold."""

    job: Any
    lease: Lease = field(repr=False)


class Jobs(RuleBasedStateMachine):
    """Every lease ever given stays in play, so that zombies come back at any time."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = FixedClock(START)
        Chore.clock = self.clock
        self.now = 0.0
        self.expected: dict[Any, Expected] = {}
        self.leases: list[Held] = []
        self.make()

    def teardown(self) -> None:
        Chore.objects.all().delete()
        del Chore.clock

    def make(self) -> Any:
        chore = Chore.objects.create(status="queued")
        self.expected[chore.pk] = Expected()
        return chore.pk

    def job(self, pick: int) -> Any:
        """One of the jobs; one that has ended only now and then, for little can happen to it."""
        live = [pk for pk, each in self.expected.items() if each.end is None]
        known = list(self.expected) if pick % 7 == 0 else live
        return known[pick % len(known)] if known else self.make()

    def held(self, pick: int) -> Held | None:
        """One of the leases ever given: the newest one half of the time, else one of the zombies."""
        if not self.leases:
            return None
        return self.leases[-1] if pick % 2 else self.leases[pick // 2 % len(self.leases)]

    # --- time ---------------------------------------------------------------------------------

    @rule(seconds=st.sampled_from([0.5, 1.0, 2.9, 3.1, 10.0]))
    def time_passes(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.now = round(self.now + seconds, 3)

    # --- workers ------------------------------------------------------------------------------

    @rule(pick=PICK, worker=WORKERS)
    def claim(self, pick: int, worker: str) -> None:
        self.try_to_claim(self.job(pick), worker)

    @rule(pick=PICK, worker=WORKERS)
    def take_over(self, pick: int, worker: str) -> None:
        """What happens most after a death: the lease runs out and somebody claims, maybe the same worker."""
        job = self.job(pick)
        self.try_to_claim(job, worker)
        self.time_passes(3.1)
        self.try_to_claim(job, worker)

    def has_room_for(self, wanted: Expected, worker: str) -> bool:
        """A worker at a suspect takes over no other one."""
        at_suspect = any(
            each.is_suspect() and each.owner == worker and (each.lease_until or 0) > self.now
            for each in self.expected.values()
        )
        becomes_one = (
            wanted.status == "running" and wanted.owner and wanted.crashes + 1 >= limits.SUSPECT_CRASHES
        )
        return not (at_suspect and becomes_one)

    def try_to_claim(self, job: Any, worker: str) -> None:
        expected = self.expected[job]
        lease = jobs.claim(Chore, job, owner=worker)
        assert (lease is not None) == (expected.claimable(self.now) and self.has_room_for(expected, worker))
        if lease is None:
            return
        if expected.status == "running" and expected.owner:
            expected.crashes += 1
        expected.attempt += 1
        assert lease.attempt == expected.attempt
        assert lease.stop.is_set() == expected.cancel_requested
        expected.status, expected.holder, expected.owner = "running", lease, worker
        expected.lease_until = self.now + LEASE
        self.leases.append(Held(job, lease))

    @rule(worker=WORKERS)
    def heartbeat(self, worker: str) -> None:
        renewed = jobs.renew(Chore, list(self.expected), owner=worker)
        mine = {
            pk: each
            for pk, each in self.expected.items()
            if each.status == "running" and each.owner == worker
        }
        assert renewed == {pk: (each.attempt, each.cancel_requested) for pk, each in mine.items()}
        for each in mine.values():
            each.lease_until = self.now + LEASE

    @rule(pick=PICK)
    def commit(self, pick: int) -> None:
        if (held := self.held(pick)) and not self.refused(
            held, lambda: held.lease.commit(lambda: self.tick(held))
        ):
            self.expected[held.job].ticks += 1
            self.expected[held.job].lease_until = self.now + LEASE

    @rule(pick=PICK, status=st.sampled_from(["completed", "failed", "cancelled"]))
    def finish(self, pick: int, status: str) -> None:
        """Mostly tried by zombies: a job that has ended is the end of its story."""
        held = self.held(pick)
        if held is None or (self.expected[held.job].holder is held.lease and pick % 5):
            return
        if not self.refused(held, lambda: held.lease.finish(status, reason="done")):
            self.ended(held.job, status)

    @rule(pick=PICK)
    def hand_over(self, pick: int) -> None:
        if (held := self.held(pick)) and not self.refused(held, held.lease.hand_over):
            self.expected[held.job].give_away("running")

    @rule(pick=PICK, seconds=st.sampled_from([0.0, 1.0, 30.0]))
    def wait(self, pick: int, seconds: float) -> None:
        if (held := self.held(pick)) and not self.refused(held, lambda: held.lease.wait_until_due(seconds)):
            self.expected[held.job].give_away("waiting")
            self.expected[held.job].run_at = self.now + seconds

    def refused(self, held: Held, write: Any) -> bool:
        """Try to write; it must work for the one holder and for nobody else."""
        may_write = self.expected[held.job].holder is held.lease
        try:
            write()
        except LeaseLost:
            assert not may_write, "the holder was refused"
            return True
        assert may_write, "two owners could write"
        return False

    def tick(self, held: Held) -> None:
        Tick.objects.create(chore_id=held.job, number=0, attempt=held.lease.attempt, owner=held.lease.owner)

    # --- everybody else -----------------------------------------------------------------------

    @rule()
    def sweep(self) -> None:
        poked = set(jobs.sweep(Chore))
        for pk, each in self.expected.items():
            if each.left_behind(self.now) and each.exhausted():
                status = "cancelled" if each.cancel_requested else "failed"
                each.worker_lost = status == "failed"
                each.attempt += 1
                self.ended(pk, status)
            assert pk not in poked or each.claimable(self.now)

    @rule(pick=PICK)
    def cancel(self, pick: int) -> None:
        job = self.job(pick)
        expected = self.expected[job]
        if expected.end is None and pick % 4:
            return
        assert jobs.request_cancel(Chore, job) == (expected.end is None)
        if expected.end is not None:
            return
        if expected.status == "running":
            expected.cancel_requested = True
        else:
            expected.attempt += 1
            self.ended(job, "cancelled")

    @rule(pick=PICK)
    def force_cancel(self, pick: int) -> None:
        job = self.job(pick)
        expected = self.expected[job]
        running = expected.status == "running"
        if running and pick % 5:
            return
        assert jobs.force_cancel(Chore, job) == running
        if running:
            expected.attempt += 1
            self.ended(job, "cancelled")

    def ended(self, job: Any, status: str) -> None:
        self.expected[job].give_away(status)
        row = Chore.objects.get(pk=job)
        assert row.calls.filter(hook="ended").count() == 1
        assert row.calls.filter(hook="after_end").count() == 1
        assert (row.end_reason == "worker_lost") == self.expected[job].worker_lost
        self.expected[job].end = (row.status, row.end_reason, row.attempt, row.ended_at)

    # --- what must always be true -------------------------------------------------------------

    @invariant()
    def rows_are_as_expected(self) -> None:
        for row in Chore.objects.annotate(ticks_done=Count("done")):
            expected = self.expected[row.pk]
            assert row.status == expected.status
            assert row.attempt == expected.attempt
            assert row.crashes == expected.crashes < limits.MAX_ATTEMPTS
            assert row.owner == expected.owner
            assert row.ticks_done == expected.ticks
            if expected.end is not None:
                assert (row.status, row.end_reason, row.attempt, row.ended_at) == expected.end

    @invariant()
    def no_live_job_is_out_of_reach_of_the_sweep(self) -> None:
        """Suppose that all workers die now: a sweep finds every job that has not ended."""
        self.clock.advance(LONG_AFTER)
        given_up = jobs.left_behind(Chore) & jobs.exhausted(Chore)
        found = set(jobs.to_poke(Chore).values_list("pk", flat=True))
        found |= set(Chore.objects.filter(given_up).values_list("pk", flat=True))
        self.clock.advance(-LONG_AFTER)
        assert found == {pk for pk, each in self.expected.items() if each.end is None}


@pytest.mark.django_db(transaction=True)
@pytest.mark.timeout(600)
def test_no_interleaving_gives_two_owners_a_lost_job_or_a_changed_end(redis_server: object) -> None:
    run_state_machine_as_test(
        Jobs,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


ACTIONS: dict[str, int] = {
    "claim": 4, "take_over": 3, "time_passes": 2, "heartbeat": 2, "commit": 5, "finish": 1,
    "hand_over": 1, "wait": 1, "sweep": 2, "cancel": 1, "force_cancel": 1,
}  # fmt: skip


@pytest.mark.django_db(transaction=True)
@pytest.mark.timeout(600)
def test_a_long_busy_life_of_jobs_keeps_every_promise(redis_server: object) -> None:
    """The same rules in the proportions of a bad day: many claims, deaths and zombies, few ends."""
    for seed in range(EXAMPLES):
        machine = Jobs()
        try:
            live(machine, random.Random(seed))
        except AssertionError as error:
            raise AssertionError(f"seed {seed}") from error
        finally:
            machine.teardown()


def live(machine: Jobs, chance: random.Random) -> None:
    for _ in range(60):
        (action,) = chance.choices(list(ACTIONS), weights=list(ACTIONS.values()))
        given: dict[str, Any] = {
            "pick": chance.randrange(1000),
            "worker": chance.choice("abc"),
            "seconds": chance.choice([0.5, 2.9, 3.1] if action == "time_passes" else [0.0, 1.0]),
            "status": chance.choice(["completed", "failed", "cancelled"]),
        }
        method = getattr(machine, action)
        method(**{name: given[name] for name in inspect.signature(method).parameters})
        machine.rows_are_as_expected()
        machine.no_live_job_is_out_of_reach_of_the_sweep()
