"""Who calls at a door: a user with an API key and its limits. Every door keeps these limits; cookies are never read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from django.conf import settings

from accounts.api_keys import find_key
from accounts.models import ApiKey, User
from accounts.oauth.grants import key_of_token
from chat.key_budgets import check_key_budget
from chat.sessions import Owner
from durable import rate_limit

BEARER = "bearer"


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
        return is_listed(name, self.key.allowed_models)

    def may_use_tool(self, name: str) -> bool:
        """Return whether the key may call a tool by itself, or have it called in answers."""
        return is_listed(name, self.key.allowed_tools)

    def permissions(self) -> dict[str, Any] | None:
        """Return what the answers to this key are limited to, as permissions of a turn; None for no limit."""
        if self.key.allowed_tools is None:
            return None
        return {"tools": {"allow": [str(name) for name in self.key.allowed_tools]}}

    def check_budget(self) -> None:
        """Raise OverBudget if the key's own budget is used up; the person's is checked with the work itself."""
        check_key_budget(self.key)

    def seconds_to_wait(self) -> int:
        """Count a request that starts work; return 0, or the seconds to wait over a limit of key or person."""
        most = settings.COPILOT_MAX_WRITES_PER_MINUTE
        waits = [rate_limit.seconds_to_wait(f"write:user:{self.user.pk}", most=most)]
        if self.key.requests_per_minute is not None:
            most = self.key.requests_per_minute
            waits.append(rate_limit.seconds_to_wait(f"key:{self.key.pk}", most=most))
        return max(waits)


def is_listed(name: str, allowed: Any) -> bool:
    """Return whether a list of names and patterns has this name; None has every name."""
    return allowed is None or any(fnmatchcase(name, str(pattern)) for pattern in allowed)


def bearer_token(headers: Mapping[str, str]) -> str:
    """Return the token of `Authorization: Bearer`; empty without one."""
    scheme, _, token = headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == BEARER else ""


def caller_with_key(token: str) -> Caller | None:
    """Return who has this API key; None if it is not valid."""
    found = find_key(token)
    return Caller(user=found.user, key=found) if found else None


def caller_with_token(token: str) -> Caller | None:
    """Return who has signed in and got this token; None if it is not valid."""
    found = key_of_token(token)
    return Caller(user=found.user, key=found) if found else None
