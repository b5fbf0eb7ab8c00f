"""A clock for tests of leases and sweeps."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import DateTimeField, Value
from django.db.models.expressions import Combinable


class FixedClock:
    """A clock that moves only on request."""

    def __init__(self, start: datetime) -> None:
        self.time = start

    def now(self) -> Combinable:
        return Value(self.time, output_field=DateTimeField())

    def after(self, seconds: float) -> Combinable:
        return Value(self.time + timedelta(seconds=seconds), output_field=DateTimeField())

    def advance(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)
