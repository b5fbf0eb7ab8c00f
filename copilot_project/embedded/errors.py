"""What can keep the system from starting, besides a process that is not ready (supervisor.NotReady)."""

from __future__ import annotations


class CannotPrepare(Exception):
    """The database could not be made ready."""
