"""One-time tickets for websockets where no cookie or header can be sent."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from accounts.limits import TICKET_SECONDS
from accounts.logins import Login, login_of, user_of
from accounts.models import Ticket, User
from accounts.tokens import hash_token, new_token


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
