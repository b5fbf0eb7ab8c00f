"""Authentication by API key, or by session cookie with CSRF protection."""

from __future__ import annotations

from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.request import Request

from accounts.api_keys import find_key
from accounts.logins import Login, login_of
from accounts.models import ApiKey, User


class ApiKeyAuthentication(BaseAuthentication):
    """Authenticates by `Authorization: Bearer <api key>`; an invalid key is refused."""

    def authenticate(self, request: Request) -> tuple[User, ApiKey] | None:
        scheme, _, key = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        found = find_key(key.strip())
        if found is None:
            raise AuthenticationFailed(
                "This API key is not valid. It may have been revoked; create a new one."
            )
        if found.is_limited:
            raise AuthenticationFailed(
                "This API key has limits, so it works only with the OpenAI API under /v1 and at /mcp."
            )
        return found.user, found

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="api"'


class CookieAuthentication(SessionAuthentication):
    """Authenticates by the browser's session; changes need the CSRF token as well."""

    def enforce_csrf(self, request: Request) -> None:
        try:
            super().enforce_csrf(request)
        except PermissionDenied as error:
            message = "The CSRF token is missing or wrong. Send the csrftoken cookie's value as X-CSRFToken."
            raise PermissionDenied(message, code="csrf_failed") from error


def current_user(request: Request | HttpRequest) -> User:
    """Return the logged-in user; raises PermissionDenied if there is none."""
    user = request.user
    if not isinstance(user, User):
        raise PermissionDenied
    return user


def current_login(request: Request) -> Login:
    """Return the login of an API request, by key or by cookie."""
    user, key = current_user(request), request.auth
    if isinstance(key, ApiKey):
        return login_of(user, api_key_id=key.pk)
    return login_of(user, session_key=request.session.session_key)
