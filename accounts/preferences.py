"""Preferences of users whose choices a package above knows; it fills the check when Django is set up."""

from __future__ import annotations

from collections.abc import Callable

from accounts.models import User

Check = Callable[[User, str], str]


class ModelPreference:
    """The model that answers a user where they pick none; the check returns its full name or raises a refusal."""

    def __init__(self) -> None:
        self._check: Check = lambda user, name: name

    def fill(self, check: Check) -> None:
        self._check = check

    def checked(self, user: User, name: str) -> str:
        return self._check(user, name)


model_preference = ModelPreference()
