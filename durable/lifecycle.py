"""What each kind of job does when it is admitted, claimed and ended: one Lifecycle per job model.

Models are rows and know no use case. The app that owns a job model registers its Lifecycle in `AppConfig.ready`.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from django.db.models import QuerySet

from durable.event_log import Event, Position
from durable.models import Cause, Job

J = TypeVar("J", bound=Job)


class NewAttempt(Protocol):
    """The attempt that a claim starts; a Lease is one."""

    @property
    def cause(self) -> Cause: ...

    @property
    def after(self) -> Position: ...

    def open_log(self, events: Sequence[Event]) -> None: ...


class NotAdmitted(Exception):
    """A queued job must wait: others go first, or its owner has no room."""


class Lifecycle(Generic[J]):
    """Hooks of one job model. The base class admits every job and adds nothing to its claim or its end."""

    # Whether `read_queued` gives the claim of a queued job its row, instead of `admit` and a read of its own.
    reads_queued: ClassVar[bool] = False
    # Whether others change a running job's row, so that `ended` must see it as it is in the database.
    rereads_ended: ClassVar[bool] = True
    # Whether events that an attempt showed and never committed are kept, for readers that cannot take them back.
    keeps_abandoned: ClassVar[bool] = False

    def admit(self, job_id: uuid.UUID) -> bool:
        """Return whether a queued job may start now. Called inside the claim's transaction."""
        return True

    def read_queued(self, job_id: uuid.UUID) -> J | None:
        """Return a queued job with all its attempt needs; None if it is not queued. Raises NotAdmitted.

        Called inside the claim's transaction, in place of `admit`. The row has `claimed_at`, the database's time.
        """
        raise NotImplementedError

    def lock_before(self, job_id: uuid.UUID) -> None:
        """Lock the rows that every transaction locks before the job's own, so that no two deadlock."""

    def startable(self, queued: QuerySet[Any]) -> QuerySet[Any]:
        """Narrow queued jobs to those a sweep should poke, leaving out those that must wait their turn."""
        return queued

    def claimed(self, job: J, attempt: NewAttempt) -> None:
        """Write the rows that belong to a new attempt. Called inside the claim's transaction."""

    def ended_unowned(self, job: J) -> None:
        """Write what the lease would have written, before `ended`, when no attempt could end the job."""

    def ended(self, job: J) -> None:
        """Change the rows that must change with the end. Called inside the transaction that ends the job."""

    def after_end(self, job: J) -> None:
        """Notify clients and poke what may start now. Called after that transaction."""


class NoLifecycle(LookupError):
    """No Lifecycle is registered for a job model."""


_lifecycles: dict[type[Job], Lifecycle[Any]] = {}


def register(model: type[J], lifecycle: Lifecycle[J]) -> None:
    """Use this Lifecycle for all jobs of the model. Call it once, in the `ready` of the app's config."""
    _lifecycles[model] = lifecycle


def lifecycle_of(model: type[J]) -> Lifecycle[J]:
    """Return the model's Lifecycle; raises NoLifecycle if its app registered none."""
    try:
        return _lifecycles[model]
    except KeyError:
        raise NoLifecycle(
            f"Register a Lifecycle for {model.__name__} in the ready() of its app: durable.lifecycle.register."
        ) from None
