"""What no test can do to those after it, and what no loaded machine can do to a test."""

from __future__ import annotations

import hypothesis
import pytest
from django.conf import settings as current
from pytest_django import Settings


@pytest.mark.parametrize("name", ["COPILOT_HEARTBEAT_SECONDS", "COPILOT_SWEEP_SECONDS"])
def test_the_pace_of_threads_that_outlive_a_test_cannot_be_changed_by_it(
    settings: Settings, name: str
) -> None:
    before = getattr(current, name)
    with pytest.raises(AssertionError, match=f"{name} is for processes"):
        setattr(settings, name, 60.0)
    assert getattr(current, name) == before


def test_property_tests_have_no_limit_of_time() -> None:
    assert hypothesis.settings().deadline is None
    assert hypothesis.HealthCheck.too_slow in hypothesis.settings().suppress_health_check
