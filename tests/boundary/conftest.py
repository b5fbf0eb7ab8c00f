"""What the sandbox's tests stand on."""

from __future__ import annotations

import os
import shutil
from typing import Any

import hypothesis
import pytest

hypothesis.settings.register_profile("no_deadline", deadline=None)  # how fast is not what they ask
hypothesis.settings.load_profile("no_deadline")


@pytest.fixture
def sandbox(settings: Any) -> None:
    """A machine with bubblewrap: without it the test is skipped at home and fails in CI."""
    settings.SANDBOX = "auto"
    if shutil.which("bwrap") is None:
        if os.environ.get("CI", "").lower() == "true":
            pytest.fail("bubblewrap is missing")
        pytest.skip("bubblewrap is missing")
