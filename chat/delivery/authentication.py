"""Authentication of websockets: by ticket, by API key, or by cookies from a page of this site."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from channels.security.websocket import OriginValidator
from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.http import parse_cookie

from accounts.api_keys import find_key
from accounts.logins import Login, login_of, open_session, user_of
from accounts.tokens import redeem_login
from accounts.visitors import visitor_from_cookie
from chat.sessions import Owner

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

MAX_CREDENTIAL_CHARACTERS = 200


class OriginGuard:
    """Refuse cookies sent by pages of other sites; such pages cannot have a ticket or a key."""

    def __init__(self, application: Application) -> None:
        self.application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if has_credential(scope):
            return await self.application(scope, receive, send)
        allowed = [*settings.ALLOWED_HOSTS, *settings.CSRF_TRUSTED_ORIGINS]
        guarded: Any = OriginValidator(self.application, allowed)  # type: ignore[arg-type]
        await guarded(scope, receive, send)
        return None


@dataclass(frozen=True, kw_only=True)
class AuthenticatedClient:
    """Whose socket it is, and by which login it was opened."""

    owner: Owner
    login: Login | None

    def is_login_valid(self) -> bool:
        """Return False after a logout, a deactivation, a change of password or the revocation of the key."""
        if self.login is None:
            return bool(settings.COPILOT_ALLOW_ANONYMOUS)
        return user_of(self.login) is not None


def authenticate(scope: Scope) -> AuthenticatedClient | None:
    """Return who opens the socket, or None. With a ticket or a key, cookies are not looked at."""
    login = login_in(scope)
    user = user_of(login) if login is not None else None
    if user is not None:
        return AuthenticatedClient(owner=Owner(user=user), login=login)
    if settings.COPILOT_ALLOW_ANONYMOUS and not has_credential(scope):
        visitor = visitor_from_cookie(cookies_in(scope).get(settings.COPILOT_VISITOR_COOKIE, ""))
        return AuthenticatedClient(owner=Owner(visitor_id=visitor), login=None) if visitor else None
    return None


def login_in(scope: Scope) -> Login | None:
    ticket, key = ticket_in(scope), bearer_in(scope)
    if ticket is not None:
        return redeem_login(ticket)
    if key is not None:
        found = find_key(key)
        return login_of(found.user, api_key_id=found.pk) if found and not found.is_limited else None
    return login_by_cookie(cookies_in(scope).get(settings.SESSION_COOKIE_NAME, ""))


def login_by_cookie(session_key: str) -> Login | None:
    if not session_key or len(session_key) > MAX_CREDENTIAL_CHARACTERS:
        return None
    session = open_session(session_key)
    user_id, auth_hash = str(session.get(SESSION_KEY, "")), session.get(HASH_SESSION_KEY, "")
    if not user_id.isdecimal():
        return None
    return Login(user_id=int(user_id), auth_hash=auth_hash, session_key=session_key)


def has_credential(scope: Scope) -> bool:
    """Return whether a ticket or a key was sent, even an empty one."""
    return ticket_in(scope) is not None or bearer_in(scope) is not None


def ticket_in(scope: Scope) -> str | None:
    values = parse_qs(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True).get("ticket")
    return values[0][:MAX_CREDENTIAL_CHARACTERS] if values else None


def bearer_in(scope: Scope) -> str | None:
    scheme, _, key = header(scope, b"authorization").partition(" ")
    return key.strip()[:MAX_CREDENTIAL_CHARACTERS] if scheme.lower() == "bearer" else None


def cookies_in(scope: Scope) -> dict[str, str]:
    return parse_cookie(header(scope, b"cookie"))


def header(scope: Scope, name: bytes) -> str:
    return next((value.decode("latin-1") for key, value in scope.get("headers", []) if key == name), "")
