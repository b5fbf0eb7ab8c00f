"""The admin site: access, the dashboard as its front page, and the timeline of a turn."""

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
from copilot_project.ops.console import access, login_views
from copilot_project.ops.console.access import LoginRequirement
from copilot_project.ops.console.alerts import find_alerts
from copilot_project.ops.console.dashboard import read_dashboard
from copilot_project.ops.console.timeline import read_timeline
from durable.admin_actions import ActionsMixin

APP_NAMES = {  # names and order of the apps for operators
    "chat": "Conversations",
    "tools": "Tools and long-running work",
    "connections": "MCP servers",
    "executions": "Agents and executions",
    "durable": "Queues and workers",
    "webhooks": "Webhooks",
    "accounts": "People and money",
    "auth": "Groups",
    "second_factor": "Second factors",
    "workspace": "Files",
    "django_celery_beat": "Periodic tasks",
}
REQUIREMENT_PAGES = {
    LoginRequirement.VISIT: "admin:enter",
    LoginRequirement.CODE: "admin:enter",
    LoginRequirement.SETUP: "admin:second-factor",
}
BACKGROUND_REFRESH = "X-Console-Refresh"  # of an open dashboard, which does not count as a visit


class Console(AdminSite):
    site_title = site_header = "Ratchet"
    index_title = "Operations"
    index_template = "console/index.html"
    enable_nav_sidebar = False  # lists need the space; the header and the front page link to everything

    # --- access -----------------------------------------------------------------------------------

    def has_permission(self, request: HttpRequest) -> bool:
        return access.missing(request) is None

    def admin_view(  # type: ignore[override]
        self, view: Callable[..., Any], cacheable: bool = False
    ) -> Callable[..., Any]:
        guarded = super().admin_view(view, cacheable)

        @wraps(view)
        def recorded(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            if BACKGROUND_REFRESH not in request.headers and self.has_permission(request):
                access.touch(request)
            return guarded(request, *args, **kwargs)

        return recorded

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Redirect a user who may not enter: to the site's login, or to the page of what is missing."""
        target = login_views.next_page(request)
        match access.missing(request):
            case None:
                return HttpResponseRedirect(target)
            case LoginRequirement.LOGIN:
                return HttpResponseRedirect(f"{settings.LOGIN_URL}?{urlencode({'next': target})}")
            case LoginRequirement.RIGHTS:
                raise PermissionDenied
            case requirement:
                return HttpResponseRedirect(
                    f"{reverse(REQUIREMENT_PAGES[requirement])}?{urlencode({'next': target})}"
                )

    @method_decorator([sensitive_post_parameters(), never_cache])
    def enter(self, request: HttpRequest) -> HttpResponse:
        """Ask staff for the password or a code, if only that is missing."""
        if access.missing(request) not in (LoginRequirement.VISIT, LoginRequirement.CODE):
            return self.login(request)
        return login_views.enter(request, cast(User, request.user), self.each_context(request))

    @method_decorator([sensitive_post_parameters(), never_cache])
    def second_factor(self, request: HttpRequest) -> HttpResponse:
        if access.missing(request) not in (None, LoginRequirement.SETUP):
            return self.login(request)
        return login_views.second_factor(request, cast(User, request.user), self.each_context(request))

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
        """Show the dashboard, to users who may view turns, above the list of all models."""
        context = board_context() if request.user.has_perm("chat.view_turn") else {"board": None}
        return super().index(request, context | (extra_context or {}))

    def board(self, request: HttpRequest) -> HttpResponse:
        """Render the dashboard alone; the front page requests it every few seconds."""
        if not request.user.has_perm("chat.view_turn"):
            raise PermissionDenied
        return TemplateResponse(request, "console/board.html", board_context())

    def timeline(self, request: HttpRequest, turn_id: uuid.UUID) -> HttpResponse:
        """Show the timeline of one turn."""
        if not request.user.has_perm("chat.view_turn"):
            raise PermissionDenied
        turn = Turn.objects.select_related("session", "user").filter(pk=turn_id).first()
        if turn is None:
            raise Http404
        context = self.each_context(request) | {
            "title": f"Turn …{str(turn.pk)[-8:]}",
            "turn": turn,
            "timeline": read_timeline(turn),
            "buttons": cast(ActionsMixin, self.get_model_admin(Turn)).buttons(request, turn),
        }
        return TemplateResponse(request, "console/timeline.html", context)

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        """Sort the apps, the most used first."""
        order = list(APP_NAMES)
        return sorted(
            super().get_app_list(request, app_label),
            key=lambda app: order.index(app["app_label"]) if app["app_label"] in order else len(order),
        )


def board_context() -> dict[str, Any]:
    board = read_dashboard()
    alerts = find_alerts(board)
    return {"board": board, "alerts": alerts, "healthy": all(alert.is_note for alert in alerts)}
