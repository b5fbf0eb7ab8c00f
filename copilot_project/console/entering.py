"""The pages before the admin: saying again who one is, and one's second factor."""

from __future__ import annotations

from typing import Any

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth import authenticate
from django.contrib.contenttypes.models import ContentType
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from accounts.attempts import count_try, login_limits
from accounts.client_address import client_network
from accounts.errors import TooManyAttempts
from accounts.models import User
from accounts.views import too_many_attempts
from copilot_project.console import door
from copilot_project.console.second_factor import factor
from copilot_project.console.second_factor.models import RecoveryCode

WRONG_CODE = "That code is not right, or was used already. Wait for the next one, or take a recovery code."
WRONG_WORD = "That password is not right."


def enter(request: HttpRequest, user: User, context: dict[str, Any]) -> HttpResponse:
    """Ask for what is missing: the password when the last visit was too long ago, a code where there is a factor."""
    asks_password = not door.is_fresh(request) and user.has_usable_password()
    asks_code = factor.confirmed(user) is not None
    error = ""
    if request.method == "POST":
        try:
            error = try_to_enter(request, user, asks_password=asks_password, asks_code=asks_code)
        except TooManyAttempts as refusal:
            return too_many_attempts(request, refusal)
        if not error:
            return HttpResponseRedirect(next_page(request))
    elif not door.is_fresh(request):
        door.forget_verification(request)
    context |= {
        "title": "Is it you?",
        "asks_password": asks_password,
        "asks_code": asks_code,
        "error": error,
        "next": next_page(request),
    }
    return TemplateResponse(request, "console/enter.html", context, status=403 if error else 200)


def try_to_enter(request: HttpRequest, user: User, *, asks_password: bool, asks_code: bool) -> str:
    """What was wrong; nothing when the door is open. The code is looked at last: it can be used but once."""
    if not (asks_password or asks_code):
        return "This account has neither password nor second factor: log out, and in again by a new link."
    if asks_password and not knows_password(request, user):
        return WRONG_WORD
    device = factor.check(user, request.POST.get("code", "")) if asks_code else None
    if asks_code and device is None:
        return WRONG_CODE
    door.open_door(request, device)
    return ""


def knows_password(request: HttpRequest, user: User) -> bool:
    """By the same limits as at the site's door."""
    tries = count_try(login_limits(username=user.get_username(), network=client_network(request)))
    found = authenticate(request, username=user.get_username(), password=request.POST.get("password", ""))
    if found is None or found.pk != user.pk:
        return False
    tries.give_back()
    return True


def next_page(request: HttpRequest) -> str:
    """Where they were going; never to another site."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    here = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure())
    return wanted if here else reverse("admin:index")


def second_factor(request: HttpRequest, user: User, context: dict[str, Any]) -> HttpResponse:
    """One's own second factor: how it stands, setting it up, new recovery codes, taking it away."""
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
        "setup": None if device else picture_of(user),
        "left": RecoveryCode.objects.filter(user=user).count(),
        "must": door.missing(request) is door.Missing.SETUP,
    }
    return TemplateResponse(request, "console/second_factor.html", context | found)


def change_second_factor(request: HttpRequest, user: User) -> dict[str, Any]:
    """What the page says about it: the new recovery codes, or an error."""
    code, wanted = request.POST.get("code", ""), request.POST.get("do")
    device = factor.confirmed(user)
    if wanted == "confirm" and device is None:
        codes = factor.confirm(user, code)
        if codes is None:
            return {"error": WRONG_CODE}
        door.open_door(request, factor.confirmed(user))
        write_down(user, "Second factor set up.")
        return {"codes": codes}
    if device is None or factor.check(user, code) is None:
        return {"error": WRONG_CODE}
    if wanted == "codes":
        write_down(user, "New recovery codes made.")
        return {"codes": factor.new_recovery_codes(user)}
    if wanted == "remove":
        factor.take_away(user)
        write_down(user, "Second factor taken away.")
    return {}


def write_down(user: User, text: str) -> None:
    LogEntry.objects.create(
        user=user,
        content_type=ContentType.objects.get_for_model(User),
        object_id=str(user.pk),
        object_repr=str(user),
        action_flag=CHANGE,
        change_message=text,
    )


def picture_of(user: User) -> dict[str, str]:
    """The QR code as SVG in the page itself: no address ever sees the key."""
    device = factor.begin(user)
    import segno  # only here, and rarely

    code = segno.make(device.address, error="m", micro=False)
    key = device.key
    return {
        "qr": code.svg_data_uri(scale=5, border=4, light="#fff", dark="#000"),
        "key": " ".join(key[place : place + 4] for place in range(0, len(key), 4)),
    }
