"""The status column of jobs, and partial indexes that keep queries as cheap as the number of live jobs."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.models import Q, lookups

STATUSES = ("queued", "running", "waiting", "completed", "failed", "cancelled")
TERMINAL = frozenset({"completed", "failed", "cancelled"})
PLAIN = re.compile(r"[A-Za-z_]+")

if TYPE_CHECKING:
    StatusColumn = models.CharField[str, str]
else:
    StatusColumn = models.CharField


def live_of(statuses: Iterable[str], terminal: Collection[str]) -> tuple[str, ...]:
    """Return the statuses of work that has not ended, in their own order: partial indexes compare it."""
    return tuple(str(status) for status in statuses if status not in terminal)


def job_indexes(live: Sequence[str]) -> list[models.Index]:
    """Return the indexes every job table has: live jobs for sweeps and counts, owned ones, ended ones by time."""
    return [
        models.Index(
            fields=["status", "queued_at"],
            condition=Q(status__in=live),
            name="%(app_label)s_%(class)s_live",
        ),
        models.Index(fields=["owner"], condition=~Q(owner=""), name="%(app_label)s_%(class)s_own"),
        models.Index(
            fields=["ended_at"], condition=Q(ended_at__isnull=False), name="%(app_label)s_%(class)s_end"
        ),
    ]


class StatusField(StatusColumn):
    """A CharField whose values appear in SQL conditions as literals.

    A database uses a partial index only if it can prove that the condition of the query implies that of the index.
    SQLite cannot prove it from bound parameters of an IN, PostgreSQL not in a generic plan of a prepared statement.
    """

    def deconstruct(self) -> Any:
        """Appear as a CharField in migrations."""
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.CharField", args, kwargs


class Literal(lookups.Lookup):
    """Write plain identifiers into the SQL instead of binding them; anything else is bound as usual."""

    def process_rhs(self, compiler: Any, connection: Any) -> Any:
        sql, params = super().process_rhs(compiler, connection)
        words = [param for param in params if isinstance(param, str) and PLAIN.fullmatch(param)]
        if not self.rhs_is_direct_value() or len(words) != len(params):
            return sql, params
        return sql % tuple(f"'{word}'" for word in words), []


@StatusField.register_lookup
class StatusExact(Literal, lookups.Exact):
    """`status = 'queued'`."""


@StatusField.register_lookup
class StatusIn(Literal, lookups.In):
    """`status IN ('queued', 'running', 'waiting')`."""
