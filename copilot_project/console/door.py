"""Who may enter the admin now, and what still stands between a person and it."""

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
from copilot_project.console.second_factor import factor
from copilot_project.console.second_factor.models import Authenticator
from durable.limits import ADMIN_TOUCH_SECONDS

SEEN_AT = "console_seen_at"


class Missing(Enum):
    """What a person has to do first."""

    LOGIN = "log in"
    RIGHTS = "be a member of staff"
    VISIT = "say again who they are: the last visit was too long ago"
    CODE = "give a code of their second factor"
    SETUP = "set up a second factor, which everybody here must have"


def missing(request: HttpRequest) -> Missing | None:
    """None for someone who may go on. The first thing of several."""
    user: User | AnonymousUser = request.user
    if not isinstance(user, User) or not user.is_active:
        return Missing.LOGIN
    if not user.is_staff:
        return Missing.RIGHTS
    if not is_fresh(request):
        return Missing.VISIT
    device = factor.confirmed(user)
    if device is None:
        return Missing.SETUP if settings.ENV.admin_require_second_factor else None
    return None if is_verified(request, device) else Missing.CODE


def is_fresh(request: HttpRequest) -> bool:
    seen_at: float = request.session.get(SEEN_AT, 0.0)
    return time.time() - seen_at < settings.ENV.admin_session_seconds


def is_verified(request: HttpRequest, device: Authenticator) -> bool:
    """Whether this very login gave a code of this very second factor."""
    return bool(request.session.get(DEVICE_ID_SESSION_KEY) == device.persistent_id)


def touch(request: HttpRequest) -> None:
    """They are here: the hour begins anew. Written once a minute at most."""
    if time.time() - request.session.get(SEEN_AT, 0.0) > ADMIN_TOUCH_SECONDS:
        request.session[SEEN_AT] = time.time()


def open_door(request: HttpRequest, device: Authenticator | None) -> None:
    """They have said who they are."""
    request.session[SEEN_AT] = time.time()
    if device is not None:
        note_device(request, device)


def forget_verification(request: HttpRequest) -> None:
    """After too long a time both are asked for: password and code."""
    request.session.pop(DEVICE_ID_SESSION_KEY, None)


def after_login(sender: Any, request: HttpRequest | None, **kwargs: Any) -> None:
    """A login is a visit; whoever logs in as another has not given that one's code."""
    if request is not None:
        request.session[SEEN_AT] = time.time()
        forget_verification(request)
