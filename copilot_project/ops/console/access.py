"""Who may use the admin, and what a user still has to do first."""

from __future__ import annotations

import time
from enum import Enum
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django_otp import DEVICE_ID_SESSION_KEY
from django_otp import login as note_device

from accounts.models import User
from copilot_project.limits import ADMIN_TOUCH_SECONDS
from copilot_project.ops.console.second_factor import factor
from copilot_project.ops.console.second_factor.models import Authenticator

SEEN_AT = "console_seen_at"


class LoginRequirement(Enum):
    """What a user has to do before they may use the admin."""

    LOGIN = "log in"
    RIGHTS = "be a member of staff"
    VISIT = "confirm the password: the last visit was too long ago"
    CODE = "enter a code of their second factor"
    SETUP = "set up a second factor, which is required here"


def missing(request: HttpRequest) -> LoginRequirement | None:
    """Return the first requirement the user does not meet, or None."""
    user: User | AnonymousUser = request.user
    if not isinstance(user, User) or not user.is_active:
        return LoginRequirement.LOGIN
    if not user.is_staff:
        return LoginRequirement.RIGHTS
    if not is_fresh(request):
        return LoginRequirement.VISIT
    device = factor.confirmed(user)
    if device is None:
        return LoginRequirement.SETUP if settings.ENV.admin_require_second_factor else None
    return None if is_verified(request, device) else LoginRequirement.CODE


def is_fresh(request: HttpRequest) -> bool:
    seen_at: float = request.session.get(SEEN_AT, 0.0)
    return time.time() - seen_at < settings.ENV.admin_session_seconds


def is_verified(request: HttpRequest, device: Authenticator) -> bool:
    """Return whether a code of this second factor was entered in this login."""
    return bool(request.session.get(DEVICE_ID_SESSION_KEY) == device.persistent_id)


def touch(request: HttpRequest) -> None:
    """Restart the idle time; the session is written once a minute at most."""
    if time.time() - request.session.get(SEEN_AT, 0.0) > ADMIN_TOUCH_SECONDS:
        request.session[SEEN_AT] = time.time()


def grant_access(request: HttpRequest, device: Authenticator | None) -> None:
    """Record that the user has proven who they are."""
    request.session[SEEN_AT] = time.time()
    if device is not None:
        note_device(request, device)


def forget_verification(request: HttpRequest) -> None:
    """Require a code again, after the session was idle for too long."""
    request.session.pop(DEVICE_ID_SESSION_KEY, None)


def after_login(sender: Any, request: HttpRequest | None, **kwargs: Any) -> None:
    """Start the idle time at login, and forget the code of a previous user."""
    if request is not None:
        request.session[SEEN_AT] = time.time()
        forget_verification(request)
