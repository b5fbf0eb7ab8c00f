"""Rate limit of changes through the HTTP API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from accounts import limits
from accounts.client_address import client_network
from accounts.models import User
from accounts.visitors import plain, visitor_id
from durable import rate_limit

if TYPE_CHECKING:  # views read this class from the settings while they are being imported
    from rest_framework.views import APIView


class WriteRate(BaseThrottle):
    """Limits the changes per minute of each user; reading is not limited.

    Visitors are counted by cookie, those without a cookie by address, and all visitors of an address together.
    """

    seconds = 0

    def allow_request(self, request: Request, view: APIView) -> bool:
        if request.method in SAFE_METHODS:
            return True
        most = settings.COPILOT_MAX_WRITES_PER_MINUTE
        self.seconds = rate_limit.seconds_to_wait(f"write:{client_of(request)}", most=most)
        if not isinstance(request.user, User):  # cookies are free, so the address is limited too
            address = f"write:visitors:{client_network(plain(request))}"
            together = rate_limit.seconds_to_wait(address, most=most * limits.VISITORS_PER_ADDRESS)
            self.seconds = max(self.seconds, together)
        return self.seconds == 0

    def wait(self) -> float:
        return self.seconds


def client_of(request: Request) -> str:
    """Return who is counted: a user, a visitor, or an address."""
    if isinstance(request.user, User):
        return f"user:{request.user.pk}"
    visitor = visitor_id(request)
    return f"visitor:{visitor}" if visitor else f"address:{client_network(plain(request))}"
