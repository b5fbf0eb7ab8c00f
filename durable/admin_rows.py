"""What lists of rows in the admin share: what may be done with them, how values are shown, actions on each row."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from django.contrib import admin, messages
from django.db.models import Model
from django.http import HttpRequest

from durable.errors import Refusal
from durable.redaction import redact

SHOWN_CHARACTERS = 20_000
Row = TypeVar("Row", bound=Model)


class GeneratedRows:
    """Rows that the product or their owners make; none is added by hand."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class PermanentRows(GeneratedRows):
    """Records of what happened; they are not deleted by hand either."""

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ViewOnlyRows(PermanentRows):
    """Records without actions."""

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


def shown(value: Any) -> str:
    """Return JSON for a page: without secrets, and cut if it is long."""
    return json.dumps(redact(value), indent=2, ensure_ascii=False)[:SHOWN_CHARACTERS]


def act_on_each(
    page: admin.ModelAdmin[Any],
    request: HttpRequest,
    rows: Iterable[Row],
    act: Callable[[Row], object],
    *,
    done: str,
) -> None:
    """Act on every row and log it; a refusal is shown and the rest goes on. `done` is a word such as "replayed"."""
    count = 0
    for row in rows:
        try:
            act(row)
        except Refusal as error:
            page.message_user(request, f"{row}: {error}", messages.WARNING)
            continue
        page.log_change(request, row, f"{done.capitalize()}.")
        count += 1
    page.message_user(request, f"{count} {done}.")
