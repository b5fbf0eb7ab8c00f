"""Random tokens of which only the hash is stored: login links and websocket tickets, each usable once."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

from django.urls import reverse
from django.utils import timezone

from accounts.limits import LOGIN_LINK_SECONDS, TICKET_SECONDS
from accounts.logins import Login, login_of, user_of
from accounts.models import LoginLink, Ticket, User

TOKEN_BYTES = 32


def new_token() -> str:
    """Return 256 random bits in URL-safe characters."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def hash_token(token: str) -> str:
    """Return the hash that is stored; a fast one suffices for 256 random bits."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def make_login_link(user: User) -> str:
    """Create a link that logs this user in once within fifteen minutes; return its path."""
    now = timezone.now()
    LoginLink.objects.filter(expires_at__lt=now).delete()
    token = new_token()
    LoginLink.objects.create(
        token_hash=hash_token(token), user=user, expires_at=now + timedelta(seconds=LOGIN_LINK_SECONDS)
    )
    return reverse("login-once", args=[token], urlconf="accounts.urls")  # the whole site's takes long to load


def redeem_login_link(token: str) -> User | None:
    """Use a link and return its user; None if it was used, has expired or is unknown. Only one call succeeds."""
    now, digest = timezone.now(), hash_token(token)
    usable = LoginLink.objects.filter(
        token_hash=digest, used_at=None, expires_at__gt=now, user__is_active=True
    )
    if usable.update(used_at=now) != 1:
        return None
    return LoginLink.objects.select_related("user").get(token_hash=digest).user


def issue_ticket(user: User, login: Login | None = None) -> str:
    """Create a ticket for this user; with `login`, it is invalid once that login has ended."""
    now = timezone.now()
    Ticket.objects.filter(expires_at__lt=now).delete()
    ticket, login = new_token(), login or login_of(user)
    Ticket.objects.create(
        token_hash=hash_token(ticket),
        user=user,
        auth_hash=login.auth_hash,
        session_key=login.session_key,
        api_key_id=login.api_key_id,
        expires_at=now + timedelta(seconds=TICKET_SECONDS),
    )
    return ticket


def redeem_login(ticket: str) -> Login | None:
    """Use a ticket within its 30 seconds and return its login; None otherwise. Only one call succeeds."""
    now = timezone.now()
    usable = Ticket.objects.filter(token_hash=hash_token(ticket), used_at=None, expires_at__gt=now)
    if usable.update(used_at=now) != 1:
        return None
    row = Ticket.objects.get(token_hash=hash_token(ticket))
    login = Login(
        user_id=row.user_id,
        auth_hash=row.auth_hash,
        session_key=row.session_key,
        api_key_id=row.api_key_id,
    )
    return login if user_of(login) else None
