"""Apply an admin action to each selected row, with an entry in the admin log."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from django.contrib import admin, messages
from django.db.models import Model
from django.http import HttpRequest

from durable.refusals import Refusal

Row = TypeVar("Row", bound=Model)


def act_on_each(
    page: admin.ModelAdmin[Any],
    request: HttpRequest,
    rows: Iterable[Row],
    act: Callable[[Row], object],
    *,
    done: str,
) -> None:
    """Call `act` on each row and report refused rows; `done` is the past participle, such as "replayed"."""
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
