"""How often a person may change something through the HTTP API."""

from __future__ import annotations

from django.conf import settings
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

from accounts.models import User
from accounts.visitors import visitor_id
from durable import rates


class WriteRate(BaseThrottle):
    """So many changes per minute and person, whatever they change; reading is free."""

    seconds = 0

    def allow_request(self, request: Request, view: APIView) -> bool:
        if request.method in SAFE_METHODS:
            return True
        self.seconds = rates.seconds_to_wait(
            f"write:{who(request)}", most=settings.COPILOT_MAX_WRITES_PER_MINUTE
        )
        return self.seconds == 0

    def wait(self) -> float:
        return self.seconds


def who(request: Request) -> str:
    if isinstance(request.user, User):
        return f"user:{request.user.pk}"
    return f"visitor:{visitor_id(request)}"
