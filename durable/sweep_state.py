"""What a sweep has to know before it does anything, read in one statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from django.conf import settings
from django.db.models import BooleanField, Exists, ExpressionWrapper, Q

from durable import limits
from durable.jobs import job_models
from durable.models import Job, Pause, WorkerBeat
from durable.process_identity import ProcessIdentity


@dataclass(frozen=True, kw_only=True)
class WorkerSeen:
    """One worker as the others see it."""

    name: str
    process: str  # its ProcessIdentity; "" = its death is recorded
    is_asked_to_drain: bool
    is_overdue: bool  # its heartbeat
    is_silent: bool  # for the length of a lease

    @property
    def identity(self) -> ProcessIdentity | None:
        return ProcessIdentity.parse(self.process)


@dataclass(frozen=True, kw_only=True)
class SweepState:
    """All workers, and where there is anything to sweep. Before the first heartbeat nothing is known."""

    workers: Sequence[WorkerSeen] = ()
    idle_models: frozenset[type[Job]] = frozenset()  # all their jobs have ended
    has_pauses: bool = True
    at_rest: bool = False  # no job is queued, running or due before the next sweep at rest

    @classmethod
    def read(cls) -> Self:
        """Read it; the workers' rows carry what is known of the jobs, so that one statement is enough."""
        models = job_models()
        beats = limits.OVERDUE_BEATS * float(settings.COPILOT_HEARTBEAT_SECONDS)
        rows = WorkerBeat.objects.annotate(
            is_asked=_is(Q(drain_requested_at__isnull=False)),
            is_overdue=_is(Q(seen_at__lt=Job.clock.after(-beats))),
            is_silent=_is(Q(seen_at__lt=Job.clock.after(-float(settings.COPILOT_LEASE_SECONDS)))),
            has_pauses=Exists(Pause.objects.all()),
            **{f"live_{number}": Exists(model.live()) for number, model in enumerate(models)},
            **{f"moves_{number}": Exists(_moving(model)) for number, model in enumerate(models)},
        )
        found: list[dict[str, Any]] = list(rows.values())
        if not found:
            return cls()
        first, numbers = found[0], range(len(models))
        return cls(
            workers=[_seen(row) for row in found],
            idle_models=frozenset(models[number] for number in numbers if not first[f"live_{number}"]),
            has_pauses=first["has_pauses"],
            at_rest=not any(first[f"moves_{number}"] for number in numbers),
        )

    def neighbours(self, owner: str) -> list[WorkerSeen]:
        """Return the other workers whose death is not recorded yet."""
        return [worker for worker in self.workers if worker.process and worker.name != owner]


def _seen(row: dict[str, Any]) -> WorkerSeen:
    return WorkerSeen(
        name=row["name"],
        process=row["process"],
        is_asked_to_drain=bool(row["is_asked"]),
        is_overdue=bool(row["is_overdue"]),
        is_silent=bool(row["is_silent"]),
    )


def _moving(model: type[Job]) -> Any:
    """Return the jobs because of which a worker sweeps at its full pace."""
    soon = model.clock.after(limits.REST_ROUNDS * float(settings.COPILOT_SWEEP_SECONDS))
    waits = Q(status=model.WAITING, cancel_requested_at=None) & (Q(run_at=None) | Q(run_at__gt=soon))
    return model.live().exclude(waits)


def _is(condition: Q) -> ExpressionWrapper:
    return ExpressionWrapper(condition, output_field=BooleanField())
