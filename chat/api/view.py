"""What all views of the chat API have in common: who may come in, as whom, and how often."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.middleware.csrf import CsrfViewMiddleware
from rest_framework.exceptions import PermissionDenied
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import User
from accounts.throttling import WriteRate
from accounts.visitors import ensure_visitor, plain, start_visitor, visitor_id
from chat.models import Session, Turn
from chat.owners import Owner
from chat.sessions import find


class MayChat(BasePermission):
    """People with an account; visitors too where the site lets them in."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        return request.user.is_authenticated or settings.COPILOT_ALLOW_ANONYMOUS


class AlwaysJson(BaseContentNegotiation):
    """Streams have a type of their own and errors are JSON, whatever `Accept` says."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        kind = request.content_type.partition(";")[0].strip().lower()
        return next((parser for parser in parsers if parser.media_type == kind), None)

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        return JSONRenderer(), JSONRenderer.media_type


class ChatView(APIView):
    """A view of the chat API."""

    permission_classes = [MayChat]
    throttle_classes = [WriteRate]
    content_negotiation_class = AlwaysJson

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if not request.user.is_authenticated and request.method not in SAFE_METHODS:
            refuse_foreign_page(request)

    @property
    def owner(self) -> Owner:
        return owner_of(self.request)

    def session(self, key: str) -> Session:
        return find(self.owner, key)

    def turn(self, turn_id: Any) -> Turn:
        return self.owner.turns().get(pk=turn_id)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Response:
        answer = super().finalize_response(request, response, *args, **kwargs)
        if hasattr(plain(request), "_new_visitor_id"):
            ensure_visitor(request, answer)
        return answer


def owner_of(request: Request) -> Owner:
    if isinstance(request.user, User):
        return Owner(user=request.user)
    return Owner(visitor_id=visitor_id(request))


def future_owner(request: Request) -> Owner:
    """As whom something is made: a visitor who comes for the first time gets an id."""
    if isinstance(request.user, User):
        return Owner(user=request.user)
    return Owner(visitor_id=start_visitor(request))


def refuse_foreign_page(request: Request) -> None:
    """A visitor has no CSRF token yet; browsers say where a request comes from, and other programs have no cookie."""
    origin = request.headers.get("Origin")
    if origin is not None and not CsrfViewMiddleware(lambda _: None)._origin_verified(plain(request)):  # type: ignore[attr-defined,arg-type]
        raise PermissionDenied("This request comes from a page of another site.", code="csrf_failed")
