"""Callers to test the OpenAI door with, without a server."""

from __future__ import annotations

import pytest

from accounts.api_keys import make_key
from accounts.models import User
from doors.openai.access import Caller


@pytest.fixture
def caller(db: None) -> Caller:
    user = User.objects.create_user("ada")
    key, _ = make_key(user, "laptop")
    return Caller(user=user, key=key)
