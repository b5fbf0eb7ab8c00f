"""The pages in front of the admin: confirming the password, and the second factor."""

from __future__ import annotations

from typing import Any

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth import authenticate
from django.contrib.contenttypes.models import ContentType
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from accounts.attempt_limits import count_try, login_limits
from accounts.client_address import client_network
from accounts.errors import TooManyAttempts
from accounts.models import User
from accounts.views import too_many_attempts
from copilot_project.ops.console import access
from copilot_project.ops.console.second_factor import factor
from copilot_project.ops.console.second_factor.models import RecoveryCode

WRONG_CODE = "That code is wrong or has been used. Wait for the next one, or use a recovery code."
WRONG_PASSWORD = "That password is wrong. Try again."  # noqa: S105


def enter(request: HttpRequest, user: User, context: dict[str, Any]) -> HttpResponse:
    """Ask for the password if the last visit was too long ago, and for a code if there is a second factor."""
    asks_password = not access.is_fresh(request) and user.has_usable_password()
    asks_code = factor.confirmed(user) is not None
    error = ""
    if request.method == "POST":
        try:
            error = try_to_enter(request, user, asks_password=asks_password, asks_code=asks_code)
        except TooManyAttempts as refusal:
            return too_many_attempts(request, refusal)
        if not error:
            return HttpResponseRedirect(next_page(request))
    elif not access.is_fresh(request):
        access.forget_verification(request)
    context |= {
        "title": "Confirm that it is you",
        "asks_password": asks_password,
        "asks_code": asks_code,
        "error": error,
        "next": next_page(request),
    }
    return TemplateResponse(request, "console/enter.html", context, status=403 if error else 200)


def try_to_enter(request: HttpRequest, user: User, *, asks_password: bool, asks_code: bool) -> str:
    """Return what was wrong, or "" when access was granted. The code is checked last, since it works once."""
    if not (asks_password or asks_code):
        return (
            "This account has neither a password nor a second factor. Log out, then log in with a new link."
        )
    if asks_password and not knows_password(request, user):
        return WRONG_PASSWORD
    device = factor.check(user, request.POST.get("code", "")) if asks_code else None
    if asks_code and device is None:
        return WRONG_CODE
    access.grant_access(request, device)
    return ""


def knows_password(request: HttpRequest, user: User) -> bool:
    """Check the password, with the same limits as the site's login."""
    tries = count_try(login_limits(username=user.get_username(), network=client_network(request)))
    found = authenticate(request, username=user.get_username(), password=request.POST.get("password", ""))
    if found is None or found.pk != user.pk:
        return False
    tries.give_back()
    return True


def next_page(request: HttpRequest) -> str:
    """Return the page the user wanted; never one of another site."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    here = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure())
    return wanted if here else reverse("admin:index")


def second_factor(request: HttpRequest, user: User, context: dict[str, Any]) -> HttpResponse:
    """Show and change the user's own second factor."""
    found: dict[str, Any] = {}
    if request.method == "POST":
        try:
            found = change_second_factor(request, user)
        except TooManyAttempts as refusal:
            return too_many_attempts(request, refusal)
    device = factor.confirmed(user)
    context |= {
        "title": "Your second factor",
        "device": device,
        "setup": None if device else setup_code(user),
        "left": RecoveryCode.objects.filter(user=user).count(),
        "must": access.missing(request) is access.LoginRequirement.SETUP,
    }
    return TemplateResponse(request, "console/second_factor.html", context | found)


def change_second_factor(request: HttpRequest, user: User) -> dict[str, Any]:
    """Apply the form; return the new recovery codes or an error for the page."""
    code, wanted = request.POST.get("code", ""), request.POST.get("do")
    device = factor.confirmed(user)
    if wanted == "confirm" and device is None:
        codes = factor.confirm(user, code)
        if codes is None:
            return {"error": WRONG_CODE}
        access.grant_access(request, factor.confirmed(user))
        log_change(user, "Set up a second factor.")
        return {"codes": codes}
    if device is None or factor.check(user, code) is None:
        return {"error": WRONG_CODE}
    if wanted == "codes":
        log_change(user, "Created new recovery codes.")
        return {"codes": factor.new_recovery_codes(user)}
    if wanted == "remove":
        factor.remove(user)
        log_change(user, "Removed the second factor.")
    return {}


def log_change(user: User, text: str) -> None:
    LogEntry.objects.create(
        user=user,
        content_type=ContentType.objects.get_for_model(User),
        object_id=str(user.pk),
        object_repr=str(user),
        action_flag=CHANGE,
        change_message=text,
    )


def setup_code(user: User) -> dict[str, str]:
    """Return the QR code as inline SVG, so that the key never appears in a URL."""
    device = factor.begin(user)
    import segno

    code = segno.make(device.address, error="m", micro=False)
    key = device.key
    return {
        "qr": code.svg_data_uri(scale=5, border=4, light="#fff", dark="#000"),
        "key": " ".join(key[start : start + 4] for start in range(0, len(key), 4)),
    }
