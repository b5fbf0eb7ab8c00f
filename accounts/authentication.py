"""How a request says who it comes from: an API key, or the browser's session cookie with CSRF."""

from __future__ import annotations

from asgiref.sync import sync_to_async
from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.request import Request

from accounts.api_keys import find_key, find_user
from accounts.logins import Login, login_of
from accounts.models import ApiKey, User


class ApiKeyAuthentication(BaseAuthentication):
    """`Authorization: Bearer <api key>`. A request that carries one stands or falls with it."""

    def authenticate(self, request: Request) -> tuple[User, ApiKey] | None:
        scheme, _, key = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        found = find_key(key.strip())
        if found is None:
            raise AuthenticationFailed("This API key is not valid. It may have been revoked; make a new one.")
        return found.user, found

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="api"'


class CookieAuthentication(SessionAuthentication):
    """The login of the browser. Whatever changes something needs the CSRF token as well."""

    def enforce_csrf(self, request: Request) -> None:
        try:
            super().enforce_csrf(request)
        except PermissionDenied as error:
            message = "The CSRF token is missing or wrong. Send the csrftoken cookie's value as X-CSRFToken."
            raise PermissionDenied(message, code="csrf_failed") from error


async def user_from_key(key: str) -> User | None:
    """Whose API key this is, for code that runs in the event loop."""
    return await sync_to_async(find_user)(key)


def current_user(request: Request | HttpRequest) -> User:
    """The logged-in user of a view that only lets logged-in people in."""
    user = request.user
    if not isinstance(user, User):
        raise PermissionDenied
    return user


def current_login(request: Request) -> Login:
    """The login behind an API request, by key or by cookie."""
    user, key = current_user(request), request.auth
    if isinstance(key, ApiKey):
        return login_of(user, api_key_id=key.pk)
    return login_of(user, session_key=request.session.session_key)
