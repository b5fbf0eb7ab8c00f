"""/api/schema/, built once per process and form, and the schemas from which the types of the chat UI are generated."""

from __future__ import annotations

import hashlib
import json
import threading
from typing import Any

from django.http import HttpResponse, HttpResponseBase
from django.utils.cache import get_conditional_response
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from copilot_project.env import ROOT
from durable.per_process import PerProcess

GENERATED = ROOT / "frontend" / "src" / "api" / "schema.ts"
PROSE = {"description", "title", "example"}


class Documents:
    """The rendered documents by media type, built by the first request while others wait."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_media_type: dict[str, bytes] = {}

    def rendered(self, renderer: BaseRenderer) -> bytes:
        with self._lock:
            if renderer.media_type not in self._by_media_type:
                self._by_media_type[renderer.media_type] = build(renderer)
            return self._by_media_type[renderer.media_type]


documents = PerProcess(Documents)


class SchemaPage(SpectacularAPIView):
    """Serves the document, which is public and the same for everyone."""

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponseBase:
        renderer = request.accepted_renderer
        document = documents().rendered(renderer)
        etag = f'"{hashlib.sha256(document).hexdigest()[:32]}"'
        shown = f'inline; filename="ratchet.{renderer.format}"'
        headers = {"ETag": etag, "Content-Disposition": shown}
        answer = HttpResponse(document, content_type=renderer.media_type, headers=headers)
        return get_conditional_response(request._request, etag=etag, response=answer) or answer


def build(renderer: BaseRenderer) -> bytes:
    schema = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    rendered = renderer.render(schema, renderer_context={})
    return rendered.encode() if isinstance(rendered, str) else rendered


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
