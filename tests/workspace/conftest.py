"""Two people with a workspace each, and limits small enough to reach."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser


@pytest.fixture
def ada(db: Any) -> AbstractBaseUser:
    return get_user_model().objects.create_user("ada")


@pytest.fixture
def bob(db: Any) -> AbstractBaseUser:
    return get_user_model().objects.create_user("bob")
