"""What can go wrong with a job.

DurableError
├── LeaseLost        another attempt owns the job now
├── JobCancelled     a person asked for the job to stop
├── HandOver         this worker is shutting down
├── TimedOut         a deadline passed
└── IllegalMove      the status table does not allow that change
"""

from __future__ import annotations


class DurableError(Exception):
    """Something about a durable job went wrong."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())


class LeaseLost(DurableError):
    """Another attempt owns this job now; nothing of this one may be written any more."""


class JobCancelled(DurableError):
    """A person asked for this job to stop."""


class HandOver(DurableError):
    """This worker is shutting down; another one goes on with the job."""


class TimedOut(DurableError):
    """The time for this job is over."""


class IllegalMove(DurableError):
    """The job's status does not allow that change."""
