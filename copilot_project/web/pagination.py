"""Lists in pages: {"results": [...], "next": cursor or null}, stable while rows are added."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError as DjangoValidationError
from django.db.models import Field, IntegerField, Model, Q, QuerySet, TextField
from rest_framework.exceptions import ValidationError
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response

from chat.limits import MAX_PAGE_SIZE, PAGE_SIZE
from durable import storable

if TYPE_CHECKING:  # views read this class from the settings while they are being imported
    from rest_framework.views import APIView

MAX_CURSOR_CHARACTERS = 2_000


class CursorPages(BasePagination):
    """Pages of a queryset in its own order (`order_by`, else the model's), made total by the primary key.

    The cursor holds the sort values of the last row shown, so a page starts after that row even if it has
    been deleted. Sort fields are columns or annotations of the queryset's rows that are never null.

    Sequences, such as ranked search results, keep their order: there the cursor holds the index of the last row
    shown and its key.
    """

    def paginate_queryset(  # type: ignore[override]
        self, queryset: QuerySet[Any] | Sequence[Model], request: Request, view: APIView | None = None
    ) -> list[Any]:
        size, cursor = page_size(request), request.query_params.get("cursor", "")
        if not isinstance(queryset, QuerySet):
            return self.paginate_ranked(queryset, size, cursor)
        order = total_order(queryset)
        rows = queryset.order_by(*order)
        if cursor:
            rows = rows.filter(after(order, decode(cursor, fields_of(queryset, order))))
        page = list(rows[: size + 1])
        self.next = encode(page[size - 1], order) if len(page) > size else None
        return page[:size]

    def paginate_ranked(self, rows: Sequence[Model], size: int, cursor: str) -> list[Any]:
        start = index_after(rows, cursor) if cursor else 0
        page = list(rows[start : start + size])
        last = start + size - 1
        self.next = pack([last, rows[last].pk]) if last + 1 < len(rows) else None
        return page

    def get_paginated_response(self, data: Any) -> Response:
        return Response({"results": data, "next": self.next})

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        cursor = {"type": "string", "nullable": True, "description": "Send as `cursor` for the next page."}
        return {
            "type": "object",
            "required": ["results", "next"],
            "properties": {"results": schema, "next": cursor},
        }

    def get_schema_operation_parameters(self, view: APIView) -> list[dict[str, Any]]:
        size = {"type": "integer", "minimum": 1, "maximum": MAX_PAGE_SIZE, "default": PAGE_SIZE}
        return [
            {"name": "cursor", "in": "query", "schema": {"type": "string"}, "description": "From `next`."},
            {"name": "limit", "in": "query", "schema": size, "description": "Rows per page."},
        ]


def page_size(request: Request) -> int:
    """Return `limit`, clamped to 1..100."""
    text = request.query_params.get("limit", "")
    if not text:
        return PAGE_SIZE
    try:
        return max(1, min(int(text[:20]), MAX_PAGE_SIZE))
    except ValueError:
        raise ValidationError({"limit": ["This is not a whole number."]}) from None


def total_order(queryset: QuerySet[Any]) -> list[str]:
    """Return the order of the queryset, with the primary key as the last criterion."""
    order = list(queryset.query.order_by or queryset.model._meta.ordering or ())
    assert all(isinstance(name, str) for name in order), "pages need an order by names"
    key = queryset.model._meta.pk.name
    if not {"pk", key} & {name.lstrip("-") for name in order}:
        order.append("-pk" if not order or order[-1].startswith("-") else "pk")
    return order


def fields_of(queryset: QuerySet[Any], order: Sequence[str]) -> list[Field[Any, Any]]:
    """Return the field of each sort value, which parses the text in a cursor."""
    meta, annotations = queryset.model._meta, queryset.query.annotations
    names = [name.lstrip("-") for name in order]
    return [
        annotations[name].output_field
        if name in annotations
        else meta.pk
        if name == "pk"
        else meta.get_field(name)
        for name in names
    ]


def after(order: Sequence[str], values: Sequence[Any]) -> Q:
    """Match rows after one with these sort values: the first field beyond, or equal and the next beyond, ..."""
    condition, equal = Q(), Q()
    for name, value in zip(order, values, strict=True):
        field = name.lstrip("-")
        beyond = Q((f"{field}__{'lt' if name.startswith('-') else 'gt'}", value))
        condition |= equal & beyond
        equal &= Q((field, value))
    return condition


def encode(row: Model | dict[str, Any], order: Sequence[str]) -> str:
    names = [name.lstrip("-") for name in order]
    return pack([row[name] if isinstance(row, dict) else getattr(row, name) for name in names])


def index_after(rows: Sequence[Model], cursor: str) -> int:
    """Return the index after the last row shown, or its old index if it is gone."""
    index, key = decode(cursor, [IntegerField(), TextField()])
    return next((number + 1 for number, row in enumerate(rows) if str(row.pk) == key), max(0, index))


def pack(values: Sequence[Any]) -> str:
    text = json.dumps([as_text(value) for value in values], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode(cursor: str, fields: Sequence[Field[Any, Any]]) -> list[Any]:
    """Return the sort values in a cursor; raise ValidationError if it is invalid."""
    try:
        padded = cursor[:MAX_CURSOR_CHARACTERS] + "=" * (-len(cursor) % 4)
        texts = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        if not isinstance(texts, list) or not all(
            isinstance(text, str) and storable.is_text(text) for text in texts
        ):
            raise ValueError("not a list of texts")
        return [field.to_python(text) for field, text in zip(fields, texts, strict=True)]
    except (ValueError, RecursionError, binascii.Error, DjangoValidationError):
        message = "This cursor is invalid. Start again without it."
        raise ValidationError({"cursor": [message]}) from None


def as_text(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
