"""What runs beside the jobs in every worker process: heartbeat, sweep, cancel listener and watchdog."""

from __future__ import annotations

import logging
import os
import random
import secrets
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from celery import current_app
from django.conf import settings
from django.db import DatabaseError, InterfaceError, close_old_connections, connection
from django.db.models import Q

from durable import cancellation, counters, database, jobs, limits, liveness, sweep, tracing
from durable.database import bounded, use_own_connection
from durable.errors import HandOver, LeaseLost
from durable.lease import Lease
from durable.models import Job, WorkerBeat
from durable.pauses import Pauses, has_user
from durable.per_process import PerProcess
from durable.publisher import Delivery, leave_to_sweep, poke, send_poke, senders
from durable.signals import swept
from durable.stop_signal import StopReason
from durable.sweep import DeadWorkers, SweepPace, SweepState
from durable.tracing import acting_for, working_on

logger = logging.getLogger(__name__)

LOCAL_JOBS = 8
MAX_KIND_CHARACTERS = 255
Runner = Callable[[Lease], None]


class Runtime:
    """The leases this process holds and the threads that maintain them."""

    def __init__(self) -> None:
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self.draining = threading.Event()
        self.queues: frozenset[str] = frozenset()
        self.queue_limits: Mapping[str, int] = {}  # jobs of a queue that run here at once
        self._leases: dict[uuid.UUID, Lease] = {}
        self._lock = threading.Lock()
        self._started = False
        self._sweeping = False
        self._local = ThreadPoolExecutor(LOCAL_JOBS, thread_name_prefix="local-job")
        self._local_ids: set[uuid.UUID] = set()
        self._failed_claims: dict[uuid.UUID, int] = {}
        self.pauses = Pauses()
        self.dead_workers = DeadWorkers(self.owner)
        self.asked_to_drain = False
        self.on_drain: Callable[[bool], None] = lambda drain: None
        self.free_threads: Callable[[], int] = lambda: limits.SWEEP_BATCH
        self._has_backlog = False
        self._thread_freed = threading.Event()
        self._sweep_at = 0.0
        self._pace = SweepPace()
        self._seen = SweepState()  # by the last sweep
        self._turned_at: dict[str, float] = {}  # start of each loop's last round

    # --- running a job --------------------------------------------------------------------------

    def run(self, model: type[Job], job_id: uuid.UUID, runner: Runner) -> None:
        """Run a job if it can be claimed; a duplicate delivery finds the lease held and returns."""
        if self.draining.is_set():
            return  # another worker's sweep pokes it again
        self.start_threads()
        try:
            if self.pauses.hold(model, job_id):
                return  # a sweep pokes it again after the pause
            if self._room_in_queue(model.queue) <= 0:
                self._has_backlog = True
                leave_to_sweep(model, job_id)
                return
            lease = self._claim(model, job_id)
            if lease is None:
                return
            with (
                self._holding(lease),
                working_on(lease.log_context),
                acting_for(lease.job.on_behalf_of()),
                tracing.attempt(lease.traced) as span,
            ):
                self._run_leased(lease, runner, span)
        finally:
            if self._has_backlog:
                self._thread_freed.set()
            if not connection.in_atomic_block:
                connection.close()

    def _claim(self, model: type[Job], job_id: uuid.UUID) -> Lease | None:
        """Claim a job; end one whose claim keeps failing by its own fault instead of poking it for ever."""
        try:
            lease = jobs.claim(model, job_id, owner=self.owner)
        except Exception as error:  # raised by lifecycle hooks, which read outside content
            if not database.is_fault(error):
                raise
            logger.exception("A job could not be claimed", extra={"job_id": str(job_id)})
            if self._failed_again(job_id) >= limits.CLAIM_TRIES:
                jobs.end_unclaimable(model, job_id)
                self._failed_claims.pop(job_id, None)
            return None
        self._failed_claims.pop(job_id, None)
        return lease

    def _failed_again(self, job_id: uuid.UUID) -> int:
        with self._lock:
            if len(self._failed_claims) >= limits.SWEEP_BATCH:
                self._failed_claims.pop(
                    next(iter(self._failed_claims))
                )  # ended by another worker, most likely
            self._failed_claims[job_id] = self._failed_claims.pop(job_id, 0) + 1
            return self._failed_claims[job_id]

    def _run_leased(self, lease: Lease, runner: Runner, span: tracing.TraceSpan) -> None:
        try:
            self._run_to_an_end(lease, runner)
        except LeaseLost:
            counters.count(counters.CounterBuffer.FENCED_WRITES)
            logger.info("job fenced")
            span.drop()  # the attempt that took over traces this one
        except HandOver:
            self._hand_over(lease)
            span.set({"ratchet.handed_over": True})
        if lease.over and lease.ended_as is None:
            jobs.end_if_cancelled(lease.model, lease.job_id)
        if lease.ended_as is not None:
            status, reason = lease.ended_as
            logger.info("job ended", extra={"status": status, "end_reason": reason})
            span.set({"ratchet.status": status, "ratchet.end_reason": reason})
            if status == lease.model.FAILED:
                span.fail(reason)

    def _run_to_an_end(self, lease: Lease, runner: Runner) -> None:
        """Run the job; if its end cannot be written, end it by its columns alone: another attempt would fail too."""
        try:
            runner(lease)
        except Exception as error:
            if lease.unsaved_end is None or not database.is_fault(error):
                raise
            logger.exception("The end of a job could not be written; it is ended with its bare columns")
            lease.end_plainly()

    def _hand_over(self, lease: Lease) -> None:
        try:
            lease.hand_over()
        except LeaseLost:
            return
        poke(lease.model, lease.job_id)

    @contextmanager
    def _holding(self, lease: Lease) -> Iterator[None]:
        with self._lock:
            older = self._leases.get(lease.job_id)
            self._leases[lease.job_id] = lease
        if older is not None:
            older.stop.set(
                StopReason.LOST
            )  # frozen for longer than the lease, this worker took over from itself
        if self.draining.is_set():
            lease.draining = True
        try:
            yield
        finally:
            with self._lock:
                if self._leases.get(lease.job_id) is lease:
                    del self._leases[lease.job_id]

    def held(self) -> list[Lease]:
        with self._lock:
            return list(self._leases.values())

    # --- threads --------------------------------------------------------------------------------

    def start(self, queues: Sequence[str]) -> None:
        """Start the threads. Without queues (in a pool's child) only the jobs it holds are maintained."""
        self.queues = frozenset(queues)
        self.pauses = Pauses.read() if queues else Pauses()
        self.start_threads()
        with self._lock:
            if self._sweeping:
                return
            self._sweeping = True
        self._thread(
            "sweep",
            self._sweep_or_poke,
            lambda: float(settings.COPILOT_SWEEP_SECONDS),
            self._rest_until_freed,
        )
        threading.Thread(target=self._report_liveness, name="liveness", daemon=True).start()
        cancellation.listen(self.cancel)
        sweep.listen(self._pace.hurry)

    def start_threads(self) -> None:
        with self._lock:
            if self._started:
                return
            self._started = True
        self._thread("heartbeat", self._beat, lambda: float(settings.COPILOT_HEARTBEAT_SECONDS))

    def _thread(
        self,
        name: str,
        work: Callable[[], None],
        pause: Callable[[], float],
        rest: Callable[[float], object] = time.sleep,
    ) -> None:
        def forever() -> None:
            use_own_connection()  # however busy the jobs are, they can be renewed and taken over
            while True:
                self._turned_at[name] = time.monotonic()
                try:
                    work()
                except (DatabaseError, InterfaceError) as error:
                    logger.warning("The %s could not reach the database: %s", name, error)
                    connection.close()
                except Exception:  # without this thread the worker would silently lose its jobs
                    logger.exception("The %s failed and continues", name)
                    connection.close()
                rest(pause() * random.uniform(0.8, 1.0))  # noqa: S311

        threading.Thread(target=forever, name=name, daemon=True).start()

    def _report_liveness(self) -> None:
        """Signal that this process is not frozen, however long the database takes."""
        while True:
            if self._loops_turn() and liveness.parts().work():
                liveness.touch()
            time.sleep(limits.ALIVE_SECONDS)

    def _loops_turn(self) -> bool:
        """Return whether heartbeat and sweep have both started a round recently."""
        oldest = min(self._turned_at.copy().values(), default=time.monotonic())
        return time.monotonic() - oldest < limits.STUCK_LOOP_SECONDS

    def _beat(self) -> None:
        """Renew all leases, one UPDATE per job model; jobs that are no longer ours are stopped."""
        if not self.queues and not self.held():
            return
        close_old_connections()
        failures = [self._renew(model, leases) for model, leases in self._by_model().items()]
        if self.queues:  # a pool's child only holds jobs; its parent is the worker
            self._record_heartbeat()
        for failure in filter(None, failures):
            raise failure

    def _renew(self, model: type[Job], leases: Sequence[Lease]) -> Exception | None:
        """Renew the leases of one job model; return the error, so that the others are renewed anyway."""
        asked_at = time.monotonic()
        ids = [lease.job_id for lease in leases]
        try:
            renewed = jobs.renew(model, ids, owner=self.owner)
            left_out = [job_id for job_id in ids if job_id not in renewed]
            mine = renewed | (jobs.held(model, left_out, owner=self.owner) if left_out else {})
        except (DatabaseError, InterfaceError) as error:
            self._stop_overdue(leases)
            return error
        for lease in leases:
            self._compare(lease, mine)
            if lease.job_id in renewed:
                lease.renewed_at = max(lease.renewed_at, asked_at)
        return None

    def _stop_overdue(self, leases: Sequence[Lease]) -> None:
        """Stop jobs whose lease expired during a database outage: another worker may run them by now."""
        for lease in leases:
            if time.monotonic() - lease.renewed_at > lease.seconds:
                lease.stop.set(StopReason.LOST)

    def _compare(self, lease: Lease, mine: dict[uuid.UUID, tuple[int, bool]]) -> None:
        attempt, cancel_wanted = mine.get(lease.job_id, (None, False))
        if lease.over:
            return
        if attempt != lease.attempt:
            lease.stop.set(StopReason.LOST)
        elif cancel_wanted:
            lease.stop.set(StopReason.CANCELLED)

    def _record_heartbeat(self) -> None:
        kind = ",".join(sorted(self.queues))[:MAX_KIND_CHARACTERS]
        process = str(liveness.own_identity() or "")
        values = {"kind": kind, "seen_at": Job.clock.now(), "jobs": len(self.held()), "process": process}
        with bounded(float(settings.COPILOT_HEARTBEAT_SECONDS)):
            known = WorkerBeat.objects.filter(name=self.owner).update(**values)
        if not known:
            WorkerBeat.objects.create(name=self.owner, **values)
            gone = Job.clock.after(-limits.WORKER_FORGET_SECONDS)
            WorkerBeat.objects.filter(seen_at__lt=gone).delete()
            sweep.broadcast()  # the others have to know this process before they can see it die

    def _by_model(self) -> dict[type[Job], list[Lease]]:
        grouped: dict[type[Job], list[Lease]] = {}
        for lease in self.held():
            grouped.setdefault(lease.model, []).append(lease)
        return grouped

    def _sweep(self) -> None:
        """Check held jobs for cancel requests that were not broadcast, and poke abandoned jobs."""
        close_old_connections()
        database.run_each(
            self._by_model().items(), lambda held: self._look_at(*held), what="Looking at held jobs"
        )
        self._seen = SweepState()
        database.try_one(self._read_state, what="Reading what there is to sweep")
        database.try_one(
            lambda: self._apply_operator_requests(self._seen), what="Reading the requests of operators"
        )
        database.try_one(
            lambda: self.dead_workers.free_jobs(self._seen), what="Freeing the jobs of dead workers"
        )
        database.try_one(
            lambda: self.dead_workers.record_silent(self._seen),
            what="Recording that a worker elsewhere is dead",
        )
        if not self.draining.is_set():
            self._poke_what_fits()
            swept.send_robust(sender=Runtime, queues=self.queues, idle_models=self._seen.idle_models)

    def _read_state(self) -> None:
        self._seen = SweepState.read()

    def _look_at(self, model: type[Job], leases: Sequence[Lease]) -> None:
        mine = jobs.held(model, [lease.job_id for lease in leases], owner=self.owner)
        for lease in leases:
            self._compare(lease, mine)

    def _sweep_or_poke(self) -> None:
        """Sweep when due; in between only poke, because a thread became free while jobs waited."""
        woken, now = self._thread_freed.is_set(), time.monotonic()
        self._thread_freed.clear()
        if not woken or now >= self._sweep_at:
            self._sweep_at = now + float(settings.COPILOT_SWEEP_SECONDS)
            self._sweep_at_its_pace()
        elif not self.draining.is_set():
            close_old_connections()
            self._poke_what_fits()

    def _sweep_at_its_pace(self) -> None:
        """Sweep in every round while there is work; at rest rarely, or when a process of another worker has died."""
        if not (self._pace.wants_sweep() or self.held() or self._sees_dead_process()):
            return
        self._sweep()
        self._pace.swept(at_rest=self._seen.at_rest and not self.held())

    def _sees_dead_process(self) -> bool:
        """Return whether a worker on this machine has died since the last sweep, without asking the database."""
        return bool(self.dead_workers.find(self._seen))

    def _rest_until_freed(self, seconds: float) -> None:
        if self._thread_freed.wait(seconds):
            time.sleep(limits.BACKLOG_SECONDS)  # more may be free by then

    def _poke_what_fits(self) -> None:
        """Poke as many jobs as this worker could take itself, so that all workers together poke what they can take."""
        room = self._room()
        kinds = [model for model in self._served() if model not in self._seen.idle_models]
        random.shuffle(kinds)  # they share the threads fairly
        for model in kinds:
            room -= self._sweep_one(model, room)
        self._has_backlog = room <= 0 or any(self._room_in_queue(queue) <= 0 for queue in self.queue_limits)

    def _room_in_queue(self, queue: str) -> int:
        """Return how many more jobs of a queue may run here: each queue of a worker leaves the others their room."""
        if queue not in self.queue_limits:
            return limits.SWEEP_BATCH
        running = sum(lease.model.queue == queue for lease in self.held())
        return self.queue_limits[queue] - running

    def _room(self) -> int:
        free = min(self.free_threads(), limits.SWEEP_BATCH)
        if not senders().breaker.is_open:
            return free
        with self._lock:  # without a broker they run on threads beside the pool
            return max(free, LOCAL_JOBS - len(self._local_ids))

    def _apply_operator_requests(self, seen: SweepState | None = None) -> None:
        """Read operators' requests: pauses, and whether this worker should drain."""
        seen = seen or SweepState.read()
        self.pauses = Pauses.read() if seen.has_pauses else Pauses()
        wanted = any(worker.name == self.owner and worker.is_asked_to_drain for worker in seen.workers)
        if wanted == self.asked_to_drain:
            return
        self.asked_to_drain = wanted
        if wanted:
            self.drain()
        else:
            self.draining.clear()
        self.on_drain(wanted)

    def _sweep_one(self, model: type[Job], room: int) -> int:
        """Sweep one job model; return how many jobs were poked."""
        try:
            room = min(room, self._room_in_queue(model.queue))
            found = jobs.sweep(model, held=self._held_by_pause(model), at_most=room)
            self._poke_all(model, found)
        except (DatabaseError, InterfaceError) as error:  # one job model must not delay the others
            logger.warning("The sweep of %s failed: %s", model.__name__, error)
            connection.close()
            return 0
        except Exception:  # raised by the hooks of a job model
            logger.exception("The sweep of %s failed; the others continue", model.__name__)
            return 0
        return len(found)

    def _held_by_pause(self, model: type[Job]) -> Q | None:
        return self.pauses.held_users() if self.pauses.users and has_user(model) else None

    def _poke_all(self, model: type[Job], job_ids: Sequence[uuid.UUID]) -> None:
        """Poke each job; once the broker fails, run them locally instead of trying it for every one."""
        broker_is_up = True
        for job_id in job_ids:
            sent = send_poke(model, job_id) if broker_is_up else Delivery.LOST
            broker_is_up = sent is not Delivery.LOST
            if sent is Delivery.LOST:
                self._run_locally(model, job_id)
            elif sent is Delivery.ENOUGH:
                leave_to_sweep(model, job_id)

    def run_on_extra_thread(self, model: type[Job], job_id: uuid.UUID) -> None:
        """Run a job on an extra thread, for a job that only waits for it.

        Otherwise workers full of waiting jobs would never run what those wait for.
        """
        self._run_locally(model, job_id, lambda run: threading.Thread(target=run, daemon=True).start())

    def _run_locally(
        self,
        model: type[Job],
        job_id: uuid.UUID,
        submit: Callable[[Callable[[], None]], object] | None = None,
    ) -> None:
        """Run a job in this process; one that already waits for a thread here is not queued again."""
        with self._lock:
            if job_id in self._local_ids:
                return
            self._local_ids.add(job_id)

        def run() -> None:
            try:
                current_app.tasks[model.task_name].run(str(job_id))
            except Exception:  # in place of Celery's own task wrapper
                logger.exception("A job that was run beside the pool failed")
            finally:
                with self._lock:
                    self._local_ids.discard(job_id)

        (submit or self._local.submit)(run)

    def _served(self) -> list[type[Job]]:
        """Return the job models whose queues this worker serves, except paused ones."""
        return [model for model in jobs.job_models() if model.queue in self.queues - self.pauses.queues]

    # --- stopping -------------------------------------------------------------------------------

    def cancel(self, job_id: uuid.UUID) -> None:
        """Stop a job if it runs here; its row has been marked before."""
        with self._lock:
            lease = self._leases.get(job_id)
        if lease is not None:
            lease.stop.set(StopReason.CANCELLED)

    def drain(self) -> None:
        """Shut down gracefully: jobs stop at their next boundary, or wherever they are after the grace period."""
        self.draining.set()
        for lease in self.held():
            lease.draining = True
        timer = threading.Timer(limits.HANDOVER_GRACE_SECONDS, self.force_hand_over)
        timer.daemon = True
        timer.start()

    def force_hand_over(self) -> None:
        if not self.draining.is_set():
            return  # the request was withdrawn
        for lease in self.held():
            lease.stop.set(StopReason.HAND_OVER)

    def sign_off(self) -> None:
        """Remove this worker's heartbeat row, so that nobody waits for it."""
        WorkerBeat.objects.filter(name=self.owner).delete()


runtime = PerProcess(Runtime)
