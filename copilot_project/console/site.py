"""The admin's site: its door, the operations room as its front page, the story of a turn."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import wraps
from typing import Any, cast
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.admin import AdminSite
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, path, reverse
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from accounts.models import User
from chat.models import Turn
from copilot_project.console import door, entering
from copilot_project.console.board import read_board
from copilot_project.console.door import Missing
from copilot_project.console.timeline import story
from copilot_project.console.troubles import find_troubles
from durable.admin_acting import Acting

SHELVES = {  # the apps in an operator's words and order
    "chat": "Conversations",
    "tools": "Tools and long-running work",
    "executions": "Agents and executions",
    "durable": "Queues and workers",
    "webhooks": "Webhooks",
    "accounts": "People and money",
    "auth": "Groups",
    "second_factor": "Second factors",
    "workspace": "Files",
    "django_celery_beat": "Periodic tasks",
}
WAYS = {Missing.VISIT: "admin:enter", Missing.CODE: "admin:enter", Missing.SETUP: "admin:second-factor"}
QUIET = "X-Console-Refresh"  # the open front page asking for news is nobody's visit


class Console(AdminSite):
    site_title = site_header = "Ratchet"
    index_title = "Operations room"
    index_template = "console/index.html"
    enable_nav_sidebar = (
        False  # lists need the room; the header leads to those that matter, the front page to all
    )

    # --- the door ---------------------------------------------------------------------------------

    def has_permission(self, request: HttpRequest) -> bool:
        return door.missing(request) is None

    def admin_view(  # type: ignore[override]
        self, view: Callable[..., Any], cacheable: bool = False
    ) -> Callable[..., Any]:
        guarded = super().admin_view(view, cacheable)

        @wraps(view)
        def noted(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            if QUIET not in request.headers and self.has_permission(request):
                door.touch(request)
            return guarded(request, *args, **kwargs)

        return noted

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Where the admin sends who may not enter: to the site's own door, or to what is missing."""
        target = entering.next_page(request)
        match door.missing(request):
            case None:
                return HttpResponseRedirect(target)
            case Missing.LOGIN:
                return HttpResponseRedirect(f"{settings.LOGIN_URL}?{urlencode({'next': target})}")
            case Missing.RIGHTS:
                raise PermissionDenied
            case what:
                return HttpResponseRedirect(f"{reverse(WAYS[what])}?{urlencode({'next': target})}")

    @method_decorator([sensitive_post_parameters(), never_cache])
    def enter(self, request: HttpRequest) -> HttpResponse:
        """For members of staff of whom only a password or a code is missing."""
        if door.missing(request) not in (Missing.VISIT, Missing.CODE):
            return self.login(request)
        return entering.enter(request, cast(User, request.user), self.each_context(request))

    @method_decorator([sensitive_post_parameters(), never_cache])
    def second_factor(self, request: HttpRequest) -> HttpResponse:
        if door.missing(request) not in (None, Missing.SETUP):
            return self.login(request)
        return entering.second_factor(request, cast(User, request.user), self.each_context(request))

    # --- pages ------------------------------------------------------------------------------------

    def get_urls(self) -> list[URLPattern | URLResolver]:
        own = [
            path("enter/", self.enter, name="enter"),
            path("second-factor/", self.second_factor, name="second-factor"),
            path("board/", self.admin_view(self.board), name="board"),
            path("timeline/<uuid:turn_id>/", self.admin_view(self.timeline), name="timeline"),
        ]
        return [*own, *super().get_urls()]

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        """What matters now, for those who may look at turns; the list of everything below it."""
        context = board_context() if request.user.has_perm("chat.view_turn") else {"board": None}
        return super().index(request, context | (extra_context or {}))

    def board(self, request: HttpRequest) -> HttpResponse:
        """The living part of the front page, which asks for it every few seconds."""
        if not request.user.has_perm("chat.view_turn"):
            raise PermissionDenied
        return TemplateResponse(request, "console/board.html", board_context())

    def timeline(self, request: HttpRequest, turn_id: uuid.UUID) -> HttpResponse:
        """The story of one turn."""
        if not request.user.has_perm("chat.view_turn"):
            raise PermissionDenied
        turn = Turn.objects.select_related("session", "user").filter(pk=turn_id).first()
        if turn is None:
            raise Http404
        context = self.each_context(request) | {
            "title": f"Turn …{str(turn.pk)[-8:]}",
            "turn": turn,
            "story": story(turn),
            "buttons": cast(Acting, self.get_model_admin(Turn)).buttons(request, turn),
        }
        return TemplateResponse(request, "console/timeline.html", context)

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        """In an operator's words, what is looked at most first."""
        order = list(SHELVES)
        return sorted(
            super().get_app_list(request, app_label),
            key=lambda shelf: order.index(shelf["app_label"]) if shelf["app_label"] in order else len(order),
        )


def board_context() -> dict[str, Any]:
    board = read_board()
    troubles = find_troubles(board)
    return {"board": board, "troubles": troubles, "well": all(trouble.is_note for trouble in troubles)}
