"""Visitors without an account, identified by a signed cookie if the site allows them."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponseBase

from accounts.limits import VISITOR_COOKIE_SECONDS

SALT = "accounts.visitors"


def visitor_id(request: HttpRequest) -> uuid.UUID | None:
    """Return the visitor's id; None without a valid cookie, or if visitors are not allowed."""
    if not settings.COPILOT_ALLOW_ANONYMOUS:
        return None
    fresh: uuid.UUID | None = getattr(plain(request), "_new_visitor_id", None)
    return fresh or visitor_from_cookie(request.COOKIES.get(settings.COPILOT_VISITOR_COOKIE, ""))


def start_visitor(request: HttpRequest) -> uuid.UUID:
    """Return the visitor's id, or create one; `ensure_visitor` then sets the cookie."""
    known = visitor_id(request)
    if known:
        return known
    new = uuid.uuid4()
    plain(request)._new_visitor_id = new  # type: ignore[attr-defined]
    return new


def ensure_visitor(request: HttpRequest, response: HttpResponseBase) -> uuid.UUID:
    """Set the visitor's cookie on the response; this also renews it."""
    visitor = start_visitor(request)
    response.set_cookie(
        settings.COPILOT_VISITOR_COOKIE,
        signing.dumps(visitor.hex, salt=SALT),
        max_age=VISITOR_COOKIE_SECONDS,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
    return visitor


def visitor_from_cookie(value: str) -> uuid.UUID | None:
    """Return the id in a cookie's value; None if it is missing, forged or too old."""
    try:
        return uuid.UUID(hex=signing.loads(value, salt=SALT, max_age=VISITOR_COOKIE_SECONDS))
    except (signing.BadSignature, ValueError, TypeError, AttributeError):
        return None


def plain(request: HttpRequest) -> HttpRequest:
    """Return Django's request, which exists once per exchange; DRF's views have a wrapper around it."""
    inner: HttpRequest = getattr(request, "_request", request)
    return inner
