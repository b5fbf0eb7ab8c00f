"""The admin's site with the operations room as its front page."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib.admin import AdminSite
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, path

from chat.models import Turn
from copilot_project.console.board import read_board
from copilot_project.console.timeline import story


class Console(AdminSite):
    site_title = site_header = "Ratchet"
    index_title = "Operations room"

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        """What matters now, for those who may look at turns; the list of everything below it."""
        board = read_board() if request.user.has_perm("chat.view_turn") else None
        return super().index(request, {"board": board} | (extra_context or {}))

    def get_urls(self) -> list[URLPattern | URLResolver]:
        own = path("timeline/<uuid:turn_id>/", self.admin_view(self.timeline), name="timeline")
        return [own, *super().get_urls()]

    def timeline(self, request: HttpRequest, turn_id: uuid.UUID) -> HttpResponse:
        """The story of one turn."""
        if not request.user.has_perm("chat.view_turn"):
            raise PermissionDenied
        turn = Turn.objects.select_related("session", "user").filter(pk=turn_id).first()
        if turn is None:
            raise Http404
        context = self.each_context(request) | {
            "title": f"Turn {turn.pk}",
            "turn": turn,
            "story": story(turn),
        }
        return TemplateResponse(request, "admin/timeline.html", context)
