"""The clock that leases are measured by: the database's, so that hosts with wrong clocks agree."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Protocol

from django.db.models import DateTimeField, ExpressionWrapper, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Now


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


class FixedClock:
    """A clock that stands still until it is moved: for tests of leases and sweeps."""

    def __init__(self, start: datetime) -> None:
        self.time = start

    def now(self) -> Combinable:
        return Value(self.time, output_field=DateTimeField())

    def after(self, seconds: float) -> Combinable:
        return Value(self.time + timedelta(seconds=seconds), output_field=DateTimeField())

    def advance(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)
