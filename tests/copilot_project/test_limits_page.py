"""The generated page of limits shows every limit with its value and its comment."""

from __future__ import annotations

import pytest

from copilot_project import limits_page
from durable import limits
from tests.code.test_limits import defined


def test_every_limit_is_on_the_page() -> None:
    page = limits_page.limits_page()
    assert [name for name in defined() if f"| `{name}` |" not in page] == []
    assert f"| `REPOKE_SECONDS` | {limits.REPOKE_SECONDS:g} |" in page


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (50, "50"),
        (65_536, "65,536"),
        (0.5, "0.5"),
        (2.0, "2"),
        ((10.0, 30.0), "10, 30"),
        ("text/html", "`text/html`"),
    ],
)
def test_values_are_readable(value: object, text: str) -> None:
    assert limits_page.shown(value) == text


def test_a_package_without_limits_fails_loudly() -> None:
    with pytest.raises(FileNotFoundError):
        list(limits_page.limits_of("docs"))
