"""Two people with a workspace each, and limits small enough to reach."""

from __future__ import annotations

from typing import Any

import hypothesis
import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser

hypothesis.settings.register_profile("no_deadline", deadline=None)  # how fast is not what they ask
hypothesis.settings.load_profile("no_deadline")


@pytest.fixture
def ada(db: Any) -> AbstractBaseUser:
    return get_user_model().objects.create_user("ada")


@pytest.fixture
def bob(db: Any) -> AbstractBaseUser:
    return get_user_model().objects.create_user("bob")
