"""Who calls, in the words of OpenAI; the limits of keys are those of every door."""

from __future__ import annotations

from collections.abc import Mapping

from accounts.errors import OverBudget
from doors.callers import Caller, bearer_token, caller_with_key
from doors.openai.errors import InvalidKey, OutOfQuota, TooFast

__all__ = ["Caller", "authenticate", "check_budget", "count_request"]


def authenticate(headers: Mapping[str, str]) -> Caller:
    """Return who calls, by `Authorization: Bearer`; raise InvalidKey."""
    found = caller_with_key(bearer_token(headers))
    if found is None:
        raise InvalidKey
    return found


def count_request(caller: Caller) -> None:
    """Count a request that starts work; raise TooFast over the limit of the key or of the person."""
    if seconds := caller.seconds_to_wait():
        raise TooFast(retry_after=seconds)


def check_budget(caller: Caller) -> None:
    """Raise OutOfQuota if the key's own budget is used up; the person's is checked with every turn."""
    try:
        caller.check_budget()
    except OverBudget as error:
        raise OutOfQuota(f"{error.message} {error.hint}".strip()) from None
