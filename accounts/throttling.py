"""How often a person may change something through the HTTP API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from accounts.client_address import client_network
from accounts.models import User
from accounts.visitors import plain, visitor_id
from durable import limits, rates

if TYPE_CHECKING:  # views read this class from the settings while they are being imported
    from rest_framework.views import APIView


class WriteRate(BaseThrottle):
    """So many changes per minute and person, whatever they change; reading is free.

    Visitors are counted by their cookie, newcomers by their address, and all visitors of an address together.
    """

    seconds = 0

    def allow_request(self, request: Request, view: APIView) -> bool:
        if request.method in SAFE_METHODS:
            return True
        most = settings.COPILOT_MAX_WRITES_PER_MINUTE
        self.seconds = rates.seconds_to_wait(f"write:{who(request)}", most=most)
        if not isinstance(request.user, User):  # a cookie costs nothing: so many do not make so many people
            address = f"write:visitors:{client_network(plain(request))}"
            together = rates.seconds_to_wait(address, most=most * limits.VISITORS_PER_ADDRESS)
            self.seconds = max(self.seconds, together)
        return self.seconds == 0

    def wait(self) -> float:
        return self.seconds


def who(request: Request) -> str:
    """Whose changes these are: a user's, a visitor's, or those of everybody at an address who is neither yet."""
    if isinstance(request.user, User):
        return f"user:{request.user.pk}"
    visitor = visitor_id(request)
    return f"visitor:{visitor}" if visitor else f"address:{client_network(plain(request))}"
