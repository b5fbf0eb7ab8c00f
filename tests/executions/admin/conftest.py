"""Two people with a library each."""

from __future__ import annotations

from tests.executions.people import ada, bob

__all__ = ["ada", "bob"]
