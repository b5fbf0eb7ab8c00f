"""Claim, heartbeat, sweep, cancel and end, one at a time."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q

from durable import event_log, jobs, limits
from durable.errors import HandOver, JobCancelled, JobTimedOut, LeaseLost
from durable.event_log import START
from durable.lease import Lease
from durable.lifecycle import NewAttempt
from durable.models import EventPage
from durable.redis import client
from durable.stop_signal import StopReason
from tests.durable.fixed_clock import FixedClock
from tests.durable.testjobs.events import Mark, Word
from tests.durable.testjobs.lifecycle import ChoreLifecycle
from tests.durable.testjobs.models import Chore, HookCall, Tick

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis_server")]
LEASE = 3.0


def make(**values: Any) -> Chore:
    return Chore.objects.create(**({"status": Chore.QUEUED} | values))


def claim(chore: Chore, owner: str = "a") -> Lease:
    lease = jobs.claim(Chore, chore.pk, owner=owner)
    assert lease is not None
    return lease


def hooks(chore: Chore) -> list[str]:
    return list(chore.calls.order_by("pk").values_list("hook", flat=True))


# --- claim --------------------------------------------------------------------------------------


def test_a_claim_takes_a_queued_job_and_raises_its_attempt(clock: FixedClock) -> None:
    chore = make(poked_at=clock.time)
    lease = claim(chore, "worker")
    chore.refresh_from_db()
    assert (chore.status, chore.attempt, chore.owner, chore.crashes) == ("running", 1, "worker", 0)
    assert chore.started_at == clock.time
    assert chore.poked_at is None
    assert chore.lease_until is not None
    assert (chore.lease_until - clock.time).total_seconds() == LEASE
    assert (lease.job_id, lease.attempt, lease.owner) == (chore.pk, 1, "worker")
    assert hooks(chore) == ["claimed"]


def test_a_second_claim_gets_nothing_while_the_lease_holds(clock: FixedClock) -> None:
    chore = make()
    claim(chore)
    clock.advance(LEASE)
    assert jobs.claim(Chore, chore.pk, owner="b") is None
    clock.advance(0.001)
    assert claim(chore, "b").attempt == 2


def test_a_claim_of_nothing_gets_nothing() -> None:
    assert jobs.claim(Chore, uuid.uuid4(), owner="a") is None


@pytest.mark.parametrize("status", ["completed", "failed", "cancelled"])
def test_an_ended_job_cannot_be_claimed(status: str) -> None:
    chore = make(status=status)
    assert jobs.claim(Chore, chore.pk, owner="a") is None


def test_a_waiting_job_is_claimed_when_it_is_due_and_not_before(clock: FixedClock) -> None:
    chore = make()
    claim(chore).wait_until_due(60)
    clock.advance(59.9)
    assert jobs.claim(Chore, chore.pk, owner="b") is None
    clock.advance(0.1)
    lease = claim(chore, "b")
    chore.refresh_from_db()
    assert (lease.attempt, chore.run_at, chore.crashes) == (2, None, 0)


def test_a_job_that_is_not_admitted_stays_queued() -> None:
    chore = make(blocked=True)
    assert jobs.claim(Chore, chore.pk, owner="a") is None
    chore.refresh_from_db()
    assert (chore.status, chore.attempt) == ("queued", 0)


def test_a_claim_that_breaks_a_rule_of_its_kind_gets_nothing() -> None:
    claim(make(room="kitchen"))
    second = make(room="kitchen")
    assert jobs.claim(Chore, second.pk, owner="b") is None
    second.refresh_from_db()
    assert (second.status, second.attempt, second.owner) == ("queued", 0, "")
    assert hooks(second) == []


def test_a_fault_in_the_claimed_hook_is_heard_and_leaves_the_job_queued(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chore = make()

    def broken(self: ChoreLifecycle, job: Chore, attempt: NewAttempt) -> None:
        HookCall.objects.create(chore_id=uuid.uuid4(), hook="x", attempt=0)
        raise IntegrityError("a fault of the hook, not a lost race")

    monkeypatch.setattr(ChoreLifecycle, "claimed", broken)
    with pytest.raises(IntegrityError):
        jobs.claim(Chore, chore.pk, owner="a")
    chore.refresh_from_db()
    assert (chore.status, chore.attempt) == ("queued", 0)


def test_a_claim_of_a_job_that_was_asked_to_stop_tells_its_lease_at_once(clock: FixedClock) -> None:
    chore = make()
    claim(chore)
    assert jobs.request_cancel(Chore, chore.pk)
    clock.advance(LEASE + 1)
    with pytest.raises(JobCancelled):
        claim(chore, "b").check()


def test_the_first_events_of_an_attempt_go_out_only_after_the_claim_is_committed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chore = make()

    def claimed(self: ChoreLifecycle, job: Chore, attempt: NewAttempt) -> None:
        attempt.open_log([Mark(text="begin")])
        assert isinstance(attempt, Lease)
        assert not attempt.emitter.drain()

    monkeypatch.setattr(ChoreLifecycle, "claimed", claimed)
    lease = claim(chore)
    assert lease.emitter.flush(5)
    assert [entry.body for entry in event_log.stored(chore.pk)] == ['{"text":"begin"}']
    assert event_log.tail(chore.pk, START) == event_log.stored(chore.pk)


# --- commit -------------------------------------------------------------------------------------


def test_a_commit_writes_its_work_and_its_events_together() -> None:
    chore = make()
    lease = claim(chore)
    lease.emitter.emit(Word(text="one "))
    answer = lease.commit(lambda: tick(lease, 0), events=[Mark(text="two")])
    assert answer.number == 0
    assert [entry.body for entry in event_log.stored(chore.pk)] == ['{"text":"one "}', '{"text":"two"}']
    assert lease.emitter.flush(5)
    assert event_log.tail(chore.pk, START) == event_log.stored(chore.pk)


def test_a_commit_renews_the_lease(clock: FixedClock) -> None:
    chore = make()
    lease = claim(chore)
    clock.advance(2)
    lease.commit(lambda: None)
    clock.advance(2)
    assert jobs.claim(Chore, chore.pk, owner="b") is None


def test_work_that_fails_leaves_nothing_behind_and_the_lease_alive() -> None:
    chore = make()
    lease = claim(chore)
    lease.emitter.emit(Mark(text="before "))

    def fail() -> None:
        tick(lease, 0)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        lease.commit(fail, events=[Mark(text="never")])
    assert not Tick.objects.exists()
    assert event_log.stored(chore.pk) == []
    lease.emitter.emit(Mark(text="after "))
    lease.finish(Chore.FAILED, reason="error", events=[Mark(text="end")])
    assert text_of(event_log.stored(chore.pk)) == "before after end"
    assert event_log.tail(chore.pk, START) == event_log.stored(chore.pk)


def test_a_fault_after_the_commit_does_not_undo_it(caplog: pytest.LogCaptureFixture) -> None:
    chore = make()
    lease = claim(chore)

    def broken() -> None:
        raise ZeroDivisionError

    def work() -> str:
        tick(lease, 0)
        transaction.on_commit(broken)
        return "done"

    assert lease.commit(work, events=[Mark(text="a")]) == "done"
    assert "ZeroDivisionError" in caplog.text
    lease.finish(Chore.COMPLETED, work=lambda: tick(lease, 1), events=[Mark(text="b")])
    assert chore.done.count() == 2
    assert text_of(event_log.stored(chore.pk)) == "ab"


def test_a_zombie_can_write_nothing(clock: FixedClock) -> None:
    chore = make()
    zombie = claim(chore)
    clock.advance(LEASE + 1)
    successor = claim(chore, "b")
    with pytest.raises(LeaseLost):
        zombie.commit(lambda: tick(zombie, 0), events=[Mark(text="ghost")])
    with pytest.raises(LeaseLost):
        zombie.finish(Chore.COMPLETED)
    with pytest.raises(LeaseLost):
        zombie.check()
    for give_away in (zombie.hand_over, lambda: zombie.wait_until_due(1)):
        with pytest.raises(LeaseLost):
            give_away()
    assert not Tick.objects.exists()
    successor.finish(Chore.COMPLETED)
    assert event_log.stored(chore.pk) == []


def test_an_attempt_can_do_nothing_after_it_gave_the_job_away() -> None:
    chore = make()
    lease = claim(chore)
    lease.hand_over()
    with pytest.raises(LeaseLost):
        lease.commit(lambda: tick(lease, 0))
    assert not Tick.objects.exists()


def test_a_commit_may_change_columns_of_the_job() -> None:
    chore = make()
    claim(chore).commit(lambda: None, ticks=42)
    chore.refresh_from_db()
    assert chore.ticks == 42


def test_a_commit_inside_the_work_of_a_commit_is_refused() -> None:
    lease = claim(make())
    with pytest.raises(RuntimeError):
        lease.commit(lambda: lease.commit(lambda: None))
    lease.commit(lambda: None)


# --- the ends of an attempt ---------------------------------------------------------------------


def test_finish_ends_the_job_once_and_calls_the_hooks_in_order(clock: FixedClock) -> None:
    chore = make()
    lease = claim(chore)
    lease.finish(Chore.COMPLETED, reason="done", error="", work=lambda: tick(lease, 0), ticks=7)
    chore.refresh_from_db()
    assert (chore.status, chore.end_reason, chore.owner, chore.lease_until, chore.ticks) == (
        "completed", "done", "", None, 7,
    )  # fmt: skip
    assert chore.ended_at == clock.time
    assert chore.is_terminal
    assert hooks(chore) == ["claimed", "ended", "after_end"]
    with pytest.raises(LeaseLost):
        lease.finish(Chore.FAILED)


def test_finish_starts_the_time_to_live_of_the_log() -> None:
    chore = make()
    lease = claim(chore)
    lease.finish(Chore.COMPLETED, events=[Mark(text="end")])
    ttl = client().ttl(event_log.stream_key(chore.pk))
    assert 0 < ttl <= settings.COPILOT_STREAM_TTL_SECONDS


def test_events_after_the_end_are_not_sent() -> None:
    chore = make()
    lease = claim(chore)
    lease.finish(Chore.COMPLETED, events=[Mark(text="end")])
    lease.emitter.emit(Mark(text="late"))
    lease.emitter.hint(Mark(text="late"))
    assert lease.emitter.flush(5)
    assert text_of(event_log.tail(chore.pk, START)) == "end"


def test_a_hand_over_can_be_claimed_in_the_same_instant_and_is_no_crash(clock: FixedClock) -> None:
    chore = make()
    claim(chore).hand_over()
    assert jobs.sweep(Chore) == [chore.pk]
    lease = claim(chore, "b")
    chore.refresh_from_db()
    assert (lease.attempt, chore.crashes) == (2, 0)


def test_open_events_of_an_attempt_that_gives_up_are_not_kept() -> None:
    chore = make()
    lease = claim(chore)
    lease.emitter.emit(Mark(text="half a sen"))
    lease.hand_over()
    assert event_log.stored(chore.pk) == []


@pytest.mark.parametrize(
    ("reason", "error"),
    [
        (StopReason.LOST, LeaseLost),
        (StopReason.CANCELLED, JobCancelled),
        (StopReason.HAND_OVER, HandOver),
        (StopReason.TIMED_OUT, JobTimedOut),
    ],
)
def test_check_raises_what_the_stop_signal_says(reason: StopReason, error: type[Exception]) -> None:
    lease = claim(make())
    lease.check()
    lease.stop.set(reason)
    lease.stop.set(StopReason.CANCELLED)
    with pytest.raises(error):
        lease.check()


# --- heartbeat ----------------------------------------------------------------------------------


def test_a_heartbeat_renews_the_leases_of_its_worker_alone(clock: FixedClock) -> None:
    mine, other = make(), make()
    claim(mine, "a")
    claim(other, "b")
    clock.advance(2)
    assert jobs.renew(Chore, [mine.pk, other.pk], owner="a") == {mine.pk: (1, False)}
    clock.advance(2)
    assert jobs.claim(Chore, mine.pk, owner="c") is None
    assert claim(other, "c").attempt == 2


def test_a_heartbeat_tells_who_was_asked_to_stop() -> None:
    chore = make()
    claim(chore)
    jobs.request_cancel(Chore, chore.pk)
    assert jobs.renew(Chore, [chore.pk], owner="a") == {chore.pk: (1, True)}


def test_a_heartbeat_of_no_jobs_is_nothing() -> None:
    assert jobs.renew(Chore, [], owner="a") == {}


# --- sweep --------------------------------------------------------------------------------------


def test_a_sweep_pokes_a_queued_job_and_again_only_after_a_while(clock: FixedClock) -> None:
    chore = make()
    assert jobs.sweep(Chore) == [chore.pk]
    assert jobs.sweep(Chore) == []
    clock.advance(limits.REPOKE_SECONDS + 0.001)
    assert jobs.sweep(Chore) == [chore.pk]


def test_a_sweep_pokes_a_job_whose_lease_ran_out_at_once(clock: FixedClock) -> None:
    chore = make()
    jobs.sweep(Chore)
    claim(chore)
    clock.advance(LEASE)
    assert jobs.sweep(Chore) == []
    clock.advance(0.001)
    assert jobs.sweep(Chore) == [chore.pk]


def test_a_sweep_pokes_a_waiting_job_when_it_is_due(clock: FixedClock) -> None:
    chore = make()
    claim(chore).wait_until_due(10)
    assert jobs.sweep(Chore) == []
    clock.advance(10)
    assert jobs.sweep(Chore) == [chore.pk]


def test_a_sweep_leaves_in_peace_what_its_kind_says_cannot_start(monkeypatch: pytest.MonkeyPatch) -> None:
    make(blocked=True)
    free = make()
    monkeypatch.setattr(ChoreLifecycle, "startable", lambda self, queued: queued.filter(blocked=False))
    assert jobs.sweep(Chore) == [free.pk]


def test_a_crowd_that_cannot_start_does_not_stand_in_front_of_others(
    clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SWEEP_BATCH", 2)
    crowd = {make(blocked=True).pk for _ in range(6)}
    late = make()
    seen: set[uuid.UUID] = set()
    for _ in range(4):
        seen.update(jobs.sweep(Chore))
        clock.advance(limits.REPOKE_SECONDS + 1)
    assert seen == crowd | {late.pk}


def test_a_job_whose_attempts_all_died_is_given_up_once(clock: FixedClock) -> None:
    chore = make()
    for number in range(limits.MAX_ATTEMPTS):
        assert claim(chore, f"w{number}").attempt == number + 1
        clock.advance(LEASE + LEASE * 2**number + 1)  # each death makes it rest longer
        assert jobs.sweep(Chore) == ([chore.pk] if number < limits.MAX_ATTEMPTS - 1 else [])
    chore.refresh_from_db()
    assert (chore.status, chore.end_reason, chore.owner) == ("failed", "worker_lost", "")
    assert hooks(chore)[-3:] == ["ended_unowned", "ended", "after_end"]
    assert hooks(chore).count("ended") == 1
    assert jobs.sweep(Chore) == []


def test_a_job_that_was_asked_to_stop_before_its_last_attempt_died_is_cancelled(clock: FixedClock) -> None:
    chore = make(crashes=limits.MAX_ATTEMPTS - 1)
    claim(chore)
    jobs.request_cancel(Chore, chore.pk)
    clock.advance(LEASE + 1)
    jobs.sweep(Chore)
    chore.refresh_from_db()
    assert (chore.status, chore.end_reason) == ("cancelled", "cancelled")


# --- who kills workers --------------------------------------------------------------------------


def die(*owners: str) -> None:
    """As their neighbours see it."""
    for owner in owners:
        jobs.clear_suspects(dead=owner)
        jobs.free(Chore, owner=owner)


def take_when_rested(chore: Chore, owner: str, clock: FixedClock) -> bool:
    """Try until it has rested; False when it was given up."""
    for _ in range(60):
        jobs.sweep(Chore)
        if jobs.claim(Chore, chore.pk, owner=owner) is not None:
            return True
        clock.advance(1)
    chore.refresh_from_db()
    assert (chore.status, chore.end_reason) == ("failed", "worker_lost")
    return False


def test_a_job_that_kills_every_worker_is_given_up_after_its_attempts(clock: FixedClock) -> None:
    chore = make()
    deaths = 0
    while take_when_rested(chore, f"w{deaths}", clock):
        die(f"w{deaths}")
        deaths += 1
    assert deaths == limits.MAX_ATTEMPTS


def test_two_jobs_that_kill_every_worker_are_both_given_up(clock: FixedClock) -> None:
    killers = [make(), make()]
    deaths = 0
    while killers and deaths < 50:
        killers = [chore for chore in killers if take_when_rested(chore, f"w{chore.pk}-{deaths}", clock)]
        for chore in killers:
            die(f"w{chore.pk}-{deaths}")
        deaths += 1
    assert deaths <= 2 * limits.MAX_ATTEMPTS


def test_a_job_whose_workers_are_killed_from_outside_is_never_given_up(clock: FixedClock) -> None:
    """Every worker it is at is killed, and now and then one that it is not at."""
    chore = make()
    for number in range(50):
        assert take_when_rested(chore, f"w{number}", clock)
        die(f"w{number}", f"other {number}")
        clock.advance(1)


def test_a_job_beside_one_that_kills_its_workers_is_not_given_up(clock: FixedClock) -> None:
    """Both are offered to the same worker each time; as suspects they are not at one together."""
    killer, innocent = make(), make()
    for number in range(20):
        worker = f"w{number}"
        killing = jobs.claim(Chore, killer.pk, owner=worker)
        working = jobs.claim(Chore, innocent.pk, owner=worker)
        if killing is not None:
            die(worker)
        elif working is not None:
            working.finish(Chore.COMPLETED)
        jobs.sweep(Chore)
        clock.advance(LEASE + 1)
    killer.refresh_from_db()
    innocent.refresh_from_db()
    assert (killer.status, killer.end_reason) == ("failed", "worker_lost")
    assert innocent.status == "completed"
    assert innocent.crashes <= limits.SUSPECT_CRASHES


# --- cancel -------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["queued", "waiting", "review"])
def test_a_job_that_does_not_run_is_cancelled_at_once(status: str) -> None:
    chore = make(status=status)
    assert jobs.request_cancel(Chore, chore.pk)
    chore.refresh_from_db()
    assert (chore.status, chore.end_reason, chore.attempt) == ("cancelled", "cancelled", 1)
    assert hooks(chore) == ["ended_unowned", "ended", "after_end"]
    assert not jobs.request_cancel(Chore, chore.pk)


def test_a_running_job_is_asked_to_stop_and_the_first_asking_counts(clock: FixedClock) -> None:
    chore = make()
    claim(chore)
    assert jobs.request_cancel(Chore, chore.pk)
    first = clock.time
    clock.advance(1)
    assert jobs.request_cancel(Chore, chore.pk)
    chore.refresh_from_db()
    assert (chore.status, chore.cancel_requested_at) == ("running", first)


def test_a_cancel_that_meets_a_job_on_its_way_to_wait_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """The job is running when we look for parked ones, and waiting when we look for running ones."""
    chore = make()
    lease = claim(chore)
    real = jobs.end_unowned
    moves = iter([lambda: lease.wait_until_due(60)])

    def slow(*args: Any, **values: Any) -> bool:
        ended = real(*args, **values)
        next(moves, lambda: None)()
        return ended

    monkeypatch.setattr(jobs, "end_unowned", slow)
    assert jobs.request_cancel(Chore, chore.pk)
    chore.refresh_from_db()
    assert chore.status == "cancelled"


def test_a_job_that_waits_although_it_was_asked_to_stop_is_due_at_once(clock: FixedClock) -> None:
    chore = make()
    lease = claim(chore)
    jobs.request_cancel(Chore, chore.pk)
    lease.wait_until_due(3600)
    assert jobs.sweep(Chore) == [chore.pk]
    with pytest.raises(JobCancelled):
        claim(chore, "b").check()


def test_a_forced_cancel_fences_the_worker() -> None:
    chore = make()
    lease = claim(chore)
    assert jobs.force_cancel(Chore, chore.pk)
    with pytest.raises(LeaseLost):
        lease.commit(lambda: tick(lease, 0))
    chore.refresh_from_db()
    assert (chore.status, chore.attempt) == ("cancelled", 2)
    assert not Tick.objects.exists()
    assert not jobs.force_cancel(Chore, chore.pk)


def test_cancel_of_an_unknown_job_says_so() -> None:
    assert not jobs.request_cancel(Chore, uuid.uuid4())
    assert not jobs.force_cancel(Chore, uuid.uuid4())


# --- ends without an owner ----------------------------------------------------------------------


def test_an_end_in_a_transaction_that_is_rolled_back_has_not_happened() -> None:
    chore = make()
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        assert jobs.request_cancel(Chore, chore.pk)
        assert "after_end" not in hooks(chore)
        raise ZeroDivisionError
    chore.refresh_from_db()
    assert chore.status == "queued"
    assert hooks(chore) == []


def test_news_of_an_end_waits_for_the_transaction_around_it() -> None:
    chore = make()
    with transaction.atomic():
        jobs.request_cancel(Chore, chore.pk)
        assert hooks(chore) == ["ended_unowned", "ended"]
    assert hooks(chore) == ["ended_unowned", "ended", "after_end"]


def test_a_fault_in_the_news_of_an_end_does_not_undo_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(self: ChoreLifecycle, job: Chore) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(ChoreLifecycle, "after_end", broken)
    chore = make()
    assert jobs.request_cancel(Chore, chore.pk)
    chore.refresh_from_db()
    assert chore.status == "cancelled"
    assert "ZeroDivisionError" in caplog.text


def test_an_end_whose_condition_no_longer_holds_does_nothing() -> None:
    chore = make()
    assert not jobs.end_unowned(Chore, chore.pk, Q(status="running"), status="failed", reason="x")
    assert hooks(chore) == []


# --- the log's pages ----------------------------------------------------------------------------


def test_a_page_is_stored_once_and_read_from_any_place() -> None:
    chore = make()
    lease = claim(chore)
    for number in range(6):
        lease.emitter.emit(Mark(text=str(number)))
        if number % 2:
            lease.commit(lambda: None)
    assert EventPage.objects.filter(job_id=chore.pk).count() == 3
    stored = event_log.stored(chore.pk)
    assert text_of(stored) == "012345"
    for place, entry in enumerate(stored):
        assert event_log.stored(chore.pk, entry.at) == stored[place + 1 :]
    event_log.store(chore.pk, stored[:2])
    assert event_log.stored(chore.pk) == stored
    assert event_log.last_stored(chore.pk) == stored[-1].at


def test_forgetting_takes_pages_and_log_away() -> None:
    chore, other = make(), make()
    for each in (chore, other):
        lease = claim(each)
        lease.finish(Chore.COMPLETED, events=[Mark(text="end")])
    event_log.forget([chore.pk])
    event_log.forget([])
    assert event_log.stored(chore.pk) == []
    assert event_log.top(chore.pk) is None
    assert text_of(event_log.stored(other.pk)) == "end"
    assert event_log.top(other.pk) is not None


def tick(lease: Lease, number: int) -> Tick:
    return Tick.objects.create(chore_id=lease.job_id, number=number, attempt=lease.attempt, owner=lease.owner)


def text_of(entries: list[Any]) -> str:
    import json

    return "".join(json.loads(entry.body)["text"] for entry in entries)
