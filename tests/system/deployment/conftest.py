"""What tests of a deployment share."""

from __future__ import annotations

from tests.services import broker, database

__all__ = ["broker", "database"]
