"""Two people with a library each."""

from __future__ import annotations

from typing import Any

import hypothesis
import pytest

from accounts.models import User

hypothesis.settings.register_profile("no_deadline", deadline=None)  # how fast is not what they ask
hypothesis.settings.load_profile("no_deadline")


@pytest.fixture
def ada(db: Any) -> User:
    return User.objects.create_user("ada")


@pytest.fixture
def bob(db: Any) -> User:
    return User.objects.create_user("bob")
