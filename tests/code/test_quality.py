"""Each part of `./copilot check` is a test, so that `./copilot test --all` says everything there is to say."""

from __future__ import annotations

import pytest

from tests.check import CHECKS


@pytest.mark.quality
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", CHECKS)
def test_the_code_satisfies(name: str) -> None:
    result = CHECKS[name]()
    if result.ok is None:
        pytest.skip(result.output)
    if not result.ok:
        pytest.fail(f"{name}:\n{result.output}", pytrace=False)
