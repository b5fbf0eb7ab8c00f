"""The schemas of the API without paths and descriptions, from which the types of the chat UI are generated."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from drf_spectacular.generators import SchemaGenerator

from copilot_project.env import ROOT

GENERATED = ROOT / "frontend" / "src" / "api" / "schema.ts"
PROSE = {"description", "title", "example"}


def document() -> str:
    """Return the schema's components as a canonical OpenAPI document."""
    whole = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    schemas = _without_prose(whole["components"]["schemas"])
    info = {"title": "Ratchet", "version": "0"}
    shapes = {"openapi": whole["openapi"], "info": info, "paths": {}, "components": {"schemas": schemas}}
    return json.dumps(shapes, sort_keys=True, indent=1, default=str)


def digest() -> str:
    """Return the hash that an up-to-date generated file contains."""
    return hashlib.sha256(document().encode()).hexdigest()


def _without_prose(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_prose(item) for item in value]
    if not isinstance(value, dict):
        return value
    # A property may be called `description`: then its value is a schema, not a text.
    return {
        name: _without_prose(item)
        for name, item in value.items()
        if not (name in PROSE and isinstance(item, str))
    }
