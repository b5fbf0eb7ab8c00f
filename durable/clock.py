"""The database's time, so that hosts with different clocks agree on leases."""

from __future__ import annotations

import time
from datetime import datetime, timedelta
from typing import Any, Protocol

from django.db import connection, models
from django.db.models import DateTimeField, ExpressionWrapper, Model, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Now
from django.utils import timezone

from durable.per_process import PerProcess


class Clock(Protocol):
    """A source of time inside SQL."""

    def now(self) -> Combinable: ...

    def after(self, seconds: float) -> Combinable: ...


class DatabaseClock:
    """The time of the database server, as an expression for queries."""

    def now(self) -> Combinable:
        return Now()

    def after(self, seconds: float) -> Combinable:
        later = Now() + Value(timedelta(seconds=seconds))
        return ExpressionWrapper(later, output_field=DateTimeField())


def database_now() -> datetime:
    """Return the database's time, for calculations outside a query. SQLite uses this host's clock."""
    if connection.vendor == "sqlite":
        return timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement_timestamp()")
        now: datetime = cursor.fetchone()[0]
        return now


class DatabaseTime:
    """The database's time without a query: its last answer plus the time since."""

    def __init__(self) -> None:
        self._said: tuple[datetime, float] | None = None

    def heard(self, moment: datetime) -> None:
        """Record the time the database has just returned."""
        self._said = (moment, time.monotonic())

    def now(self) -> datetime:
        """Return the estimate, or this host's time before the first answer."""
        if self._said is None:
            return timezone.now()
        moment, heard_at = self._said
        return moment + timedelta(seconds=time.monotonic() - heard_at)


database_time = PerProcess(DatabaseTime)


def current_time() -> datetime:
    """Return the time to show to people: the database's, to within milliseconds.

    Every claim refreshes it. SQLite uses this host's clock.
    """
    return timezone.now() if connection.vendor == "sqlite" else database_time().now()


class CreatedAtField(models.DateTimeField):  # type: ignore[type-arg]
    """The time a row was inserted, by the database's clock, so that hosts agree on the order.

    Migrations see a DateTimeField with `auto_now_add`.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **(options | {"auto_now_add": True}))

    def deconstruct(self) -> Any:
        name, _, args, options = super().deconstruct()
        return name, "django.db.models.DateTimeField", args, options

    @property
    def db_returning(self) -> bool:
        return connection.features.can_return_columns_from_insert

    def pre_save(self, model_instance: Model, add: bool) -> Any:
        value = super().pre_save(model_instance, add)
        return Now() if add and connection.vendor == "postgresql" else value
