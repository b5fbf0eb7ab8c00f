"""Base view of the chat API: permissions, owner, throttling, content negotiation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.middleware.csrf import CsrfViewMiddleware
from rest_framework.exceptions import PermissionDenied
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.settings import api_settings
from rest_framework.views import APIView

from accounts.api.throttling import WriteRate
from accounts.models import User
from accounts.visitors import ensure_visitor, plain, start_visitor, visitor_id
from chat.models import Session, Turn
from chat.sessions import Owner, find


class MayChat(BasePermission):
    """Permit users, and visitors where the site allows them."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        return request.user.is_authenticated or settings.COPILOT_ALLOW_ANONYMOUS


class AlwaysJson(BaseContentNegotiation):
    """Ignore `Accept`: errors are JSON, and streams set their own type."""

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
            check_origin(request)

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
    """Return the owner of something to be created; a new visitor gets an id."""
    if isinstance(request.user, User):
        return Owner(user=request.user)
    return Owner(visitor_id=start_visitor(request))


def check_origin(request: Request) -> None:
    """Refuse requests from pages of other sites. Visitors have no CSRF token yet, but browsers send the origin."""
    origin = request.headers.get("Origin")
    if origin is not None and not CsrfViewMiddleware(lambda _: None)._origin_verified(plain(request)):  # type: ignore[attr-defined,arg-type]
        raise PermissionDenied("This request comes from a page of another site.", code="csrf_failed")


def answer_to(error: Exception) -> Any:
    """Return the body of the API's answer to an error that was raised outside of a view."""
    handle: Callable[..., Any] = api_settings.EXCEPTION_HANDLER  # type: ignore[assignment]
    return handle(error, {}).data
