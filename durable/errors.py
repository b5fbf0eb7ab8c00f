"""Errors of jobs.

DurableError
├── LeaseLost        another attempt owns the job now
├── JobCancelled     a person asked for the job to stop
├── HandOver         this worker is shutting down
├── JobTimedOut      a deadline passed
└── IllegalMove      the status table does not allow that change
"""

from __future__ import annotations


class DurableError(Exception):
    """Something about a durable job went wrong."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())


class LeaseLost(DurableError):
    """Another attempt owns this job now; this one may write nothing more."""


class JobCancelled(DurableError):
    """A person asked for this job to stop."""


class HandOver(DurableError):
    """This worker is shutting down; another one continues the job."""


class JobTimedOut(DurableError):
    """The job exceeded its time limit."""


class IllegalMove(DurableError):
    """The job's status does not allow that change."""
