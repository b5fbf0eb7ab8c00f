"""What tests of the operator's tools share."""

from __future__ import annotations

from tests.services import database

__all__ = ["database"]
