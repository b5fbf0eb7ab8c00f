"""One-time login links, for a first visit or a lost password."""

from __future__ import annotations

from datetime import timedelta

from django.urls import reverse
from django.utils import timezone

from accounts.limits import LOGIN_LINK_SECONDS
from accounts.models import LoginLink, User
from accounts.tokens import hash_token, new_token


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
