"""Who calls: the API key of a request, with its limits. Cookies are never read here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from django.conf import settings

from accounts.api_keys import find_key
from accounts.errors import OverBudget
from accounts.models import ApiKey, User
from chat.key_budgets import check_key_budget
from chat.sessions import Owner
from doors.openai.errors import InvalidKey, OutOfQuota, TooFast
from durable import rate_limit


@dataclass(frozen=True, kw_only=True)
class Caller:
    """A user with the key that the request came with."""

    user: User
    key: ApiKey

    @property
    def owner(self) -> Owner:
        return Owner(user=self.user)

    def may_use_model(self, name: str) -> bool:
        """Return whether the key may use a model; an entry may end in an asterisk."""
        allowed = self.key.allowed_models
        return allowed is None or any(fnmatchcase(name, str(pattern)) for pattern in allowed)

    def permissions(self) -> dict[str, Any] | None:
        """Return what the answers to this key are limited to, as permissions of a turn; None for no limit."""
        if self.key.allowed_tools is None:
            return None
        return {"tools": {"allow": [str(name) for name in self.key.allowed_tools]}}


def authenticate(headers: Mapping[str, str]) -> Caller:
    """Return who calls, by `Authorization: Bearer`; raise InvalidKey."""
    scheme, _, key = headers.get("Authorization", "").partition(" ")
    found = find_key(key.strip()) if scheme.lower() == "bearer" else None
    if found is None:
        raise InvalidKey
    return Caller(user=found.user, key=found)


def count_request(caller: Caller) -> None:
    """Count a request that starts work; raise TooFast over the limit of the key or of the person."""
    most = settings.COPILOT_MAX_WRITES_PER_MINUTE
    waits = [rate_limit.seconds_to_wait(f"write:user:{caller.user.pk}", most=most)]
    if caller.key.requests_per_minute is not None:
        waits.append(rate_limit.seconds_to_wait(f"key:{caller.key.pk}", most=caller.key.requests_per_minute))
    if max(waits):
        raise TooFast(retry_after=max(waits))


def check_budget(caller: Caller) -> None:
    """Raise OutOfQuota if the key's own budget is used up; the person's is checked with every turn."""
    try:
        check_key_budget(caller.key)
    except OverBudget as error:
        raise OutOfQuota(f"{error.message} {error.hint}".strip()) from None
