"""Two people with a library each."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import User


@pytest.fixture
def ada(db: Any) -> User:
    return User.objects.create_user("ada")


@pytest.fixture
def bob(db: Any) -> User:
    return User.objects.create_user("bob")
