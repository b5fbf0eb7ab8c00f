from __future__ import annotations

import pytest

from accounts.models import User
from tests.executions.generator.askers import Shop
from tests.executions.people import ada

__all__ = ["ada"]


@pytest.fixture
def shop(ada: User) -> Shop:
    return Shop(user=ada)
