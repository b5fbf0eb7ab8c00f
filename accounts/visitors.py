"""Visitors without an account: known by a signed cookie, where the site lets them in at all."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponseBase
from rest_framework.request import Request

from durable.limits import VISITOR_COOKIE_SECONDS

SALT = "accounts.visitors"


def visitor_id(request: Request | HttpRequest) -> uuid.UUID | None:
    """Which visitor this is; None without a good cookie, or when visitors are not let in."""
    if not settings.COPILOT_ALLOW_ANONYMOUS:
        return None
    fresh: uuid.UUID | None = getattr(plain(request), "_new_visitor_id", None)
    return fresh or visitor_from_cookie(request.COOKIES.get(settings.COPILOT_VISITOR_COOKIE, ""))


def start_visitor(request: Request | HttpRequest) -> uuid.UUID:
    """The visitor's id, made now when there is none; `ensure_visitor` then puts it on the response."""
    known = visitor_id(request)
    if known:
        return known
    new = uuid.uuid4()
    plain(request)._new_visitor_id = new  # type: ignore[attr-defined]
    return new


def ensure_visitor(request: Request | HttpRequest, response: HttpResponseBase) -> uuid.UUID:
    """Make sure the browser comes back with this visitor's id; asking again renews the cookie."""
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
    """The id in a cookie's value; None when it is missing, forged or too old."""
    try:
        return uuid.UUID(hex=signing.loads(value, salt=SALT, max_age=VISITOR_COOKIE_SECONDS))
    except (signing.BadSignature, ValueError, TypeError, AttributeError):
        return None


def plain(request: Request | HttpRequest) -> HttpRequest:
    """Django's own request, which lives as long as the exchange; DRF's is a wrapper a view makes."""
    return request._request if isinstance(request, Request) else request
