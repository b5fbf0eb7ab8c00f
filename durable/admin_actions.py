"""Admin actions: on selected rows or on one row's page, with a confirmation where they cannot be undone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.admin.utils import flatten_fieldsets, unquote
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.timesince import timesince

if TYPE_CHECKING:
    Base = admin.ModelAdmin[Any]
else:
    Base = object

Action = Callable[[Any, HttpRequest, QuerySet[Any]], HttpResponseBase | None]
SHOWN_ROWS = 20
A_MINUTE = 60
SURE = "sure"
ACT = "_act"  # the button on the page of one row


@dataclass(frozen=True, kw_only=True)
class Button:
    """An action on the page of one row."""

    name: str
    text: str
    title: str
    is_grave: bool


def asks_first(question: str, *, button: str = "") -> Callable[[Callable[..., None]], Action]:
    """Make an action ask for confirmation first, listing what it does and to which rows.

    `button` has `{rows}` where the row count goes; by default it follows the first word of the action.
    """

    def wrap(action: Callable[..., None]) -> Action:
        @wraps(action)
        def asking(page: Any, request: HttpRequest, rows: QuerySet[Any]) -> HttpResponseBase | None:
            if request.POST.get(SURE) == "yes":
                action(page, request, rows)
                return None
            said = button or words_of_button(asking.short_description)  # type: ignore[attr-defined]
            return ask(page, request, rows, question, said)

        asking.asks_first = True  # type: ignore[attr-defined]
        return asking

    return wrap


def words_of_button(description: str) -> str:
    """Return the button's label: `Mark {rows} failed` for `Mark failed: end it now`."""
    verb, _, rest = description.partition(":")[0].partition(" ")
    return f"{verb} {{rows}} {rest}".strip()


def ask(page: Any, request: HttpRequest, rows: QuerySet[Any], question: str, button: str) -> HttpResponseBase:
    """Return the confirmation page, which sends the same request again."""
    count = rows.count()
    noun = page.opts.verbose_name if count == 1 else page.opts.verbose_name_plural
    described = [page.described(row) for row in rows[:SHOWN_ROWS]]
    again = [
        (name, value)
        for name in request.POST
        if name not in ("csrfmiddlewaretoken", SURE)
        for value in request.POST.getlist(name)
    ]
    context = page.admin_site.each_context(request) | {
        "title": "Are you sure?",
        "question": question,
        "opts": page.opts,
        "what": f"{count} {noun}",
        "button": button.format(rows=f"{count} {noun}"),
        "columns": list(described[0]) if described else [],
        "rows": [list(row.values()) for row in described],
        "left_out": max(count - SHOWN_ROWS, 0),
        "again": again,
        "back": page._back(request, still_there=True),
    }
    return TemplateResponse(request, "durable/ask_first.html", context)


class ActionsMixin(Base):
    """Show one button per action on a row's page instead of an idle Save, and name lists for what they hold."""

    change_form_template = "durable/acting.html"

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        title = {"title": capfirst(str(self.opts.verbose_name_plural))}
        return super().changelist_view(request, title | (extra_context or {}))

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        if object_id is None:
            return super().changeform_view(request, object_id, form_url, extra_context)
        if request.method == "POST" and ACT in request.POST:
            return self._act_on_one(request, object_id, request.POST[ACT])
        row = self.get_object(request, unquote(object_id))
        context: dict[str, Any] = {"buttons": self.buttons(request, row)}
        if not self._has_something_to_save(request, row):
            names = ("show_save", "show_save_and_continue", "show_save_and_add_another")
            context |= dict.fromkeys(names, False) | {"title": capfirst(str(self.opts.verbose_name))}
        return super().changeform_view(request, object_id, form_url, context | (extra_context or {}))

    def _act_on_one(self, request: HttpRequest, object_id: str, name: str) -> HttpResponseBase:
        actions: dict[str, Any] = self.get_actions(request)  # only those this user may perform
        if name not in actions:
            raise PermissionDenied
        rows = self.get_queryset(request).filter(pk=unquote(object_id))
        answer: HttpResponseBase | None = actions[name][0](self, request, rows)
        return answer or HttpResponseRedirect(self._back(request, still_there=rows.exists()))

    def _back(self, request: HttpRequest, *, still_there: bool) -> str:
        """Return the address of the row's page, or of the list if the row is gone."""
        wanted = request.POST.get("next", "")
        if url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure()):
            return wanted
        if still_there:
            return request.get_full_path()
        return reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist")

    def buttons(self, request: HttpRequest, row: Any) -> list[Button]:
        """Return the actions that this user may perform and that apply to this row."""
        actions: dict[str, Any] = self.get_actions(request)
        return [
            button(name, str(text), grave=hasattr(action, "asks_first"))
            for action, name, text in actions.values()
            if row is not None and name and name != "delete_selected" and self.fits(name, row)
        ]

    def fits(self, action: str, row: Any) -> bool:
        """Return whether the action would change this row."""
        return True

    def described(self, row: Any) -> dict[str, str]:
        """Return the columns that identify a row on the confirmation page."""
        return {capfirst(str(self.opts.verbose_name)): str(row)}

    def _has_something_to_save(self, request: HttpRequest, row: Any) -> bool:
        if row is None or not self.has_change_permission(request, row):
            return False
        shown = flatten_fieldsets(self.get_fieldsets(request, row))
        return bool(set(shown) - set(self.get_readonly_fields(request, row)))


def button(name: str, description: str, *, grave: bool) -> Button:
    """Return the button for an action: the first words of its description are the label, the rest explains it."""
    text, _, title = description.partition(":")
    return Button(name=name, text=text, title=title.strip(), is_grave=grave)


def ago(moment: datetime) -> SafeString:
    """Return `just now` or `4 minutes ago`, with the exact time as a tooltip."""
    young = (timezone.now() - moment).total_seconds() < A_MINUTE
    text = "just now" if young else f"{timesince(moment, depth=1)} ago"
    return format_html('<span title="{}">{}</span>', moment, text)
