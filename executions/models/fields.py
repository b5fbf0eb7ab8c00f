"""Columns of executions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from django.db import models

encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

if TYPE_CHECKING:
    JSONText = models.Field[Any, Any]
else:
    JSONText = models.TextField


class OrderedJSON(JSONText):
    """JSON whose objects keep the order of their keys, which PostgreSQL's own type does not.

    A worker that takes over reads values back and must see what its predecessor saw, also where a block goes through
    an object entry by entry. Nothing searches inside these columns.
    """

    def from_db_value(self, value: str | None, expression: Any, connection: Any) -> Any:
        return None if value is None else json.loads(value)

    def to_python(self, value: Any) -> Any:
        return value

    def get_prep_value(self, value: Any) -> Any:
        if hasattr(value, "resolve_expression"):
            return value
        return encode(value)

    def value_to_string(self, obj: models.Model) -> Any:
        return self.value_from_object(obj)
