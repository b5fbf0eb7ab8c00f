"""The page on adding a tool does what it says, and the list of tools is fresh."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.test import modify_settings

from tests.tools.conftest import Bench
from tools import registry
from tools.tool_list_page import tool_list_page

DOCS = Path(settings.BASE_DIR) / "docs"


def test_an_app_that_does_what_the_page_says_has_a_tool(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page's code, as it stands there, in the app of a stranger."""
    code = re.findall(r"```python\n(.*?)```", (DOCS / "how-to" / "add-a-tool.md").read_text(), re.DOTALL)[0]
    assert len([line for line in code.splitlines() if line.strip()]) <= 12
    app = tmp_path / "weather_app"
    app.mkdir()
    (app / "__init__.py").touch()
    (app / "copilot_tools.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    with modify_settings(INSTALLED_APPS={"append": "weather_app"}):
        found = registry.discover().get("get_weather")
        assert found is not None
        with registry.override(found):
            assert "get_weather" in [spec.name for spec in registry.offered(bench)]
            finished = bench.run_one("get_weather", city="Oslo")
    assert finished.output == {
        "type": "weather",
        "message": "It is mild in Oslo.",
        "celsius": 18.5,
        "session_id": str(bench.session_id),
    }
    for name in [name for name in sys.modules if name.startswith("weather_app")]:
        del sys.modules[name]


def test_the_list_of_tools_is_fresh() -> None:
    page = DOCS / "reference" / "tools.md"
    assert page.exists() and page.read_text() == tool_list_page(), (
        "Stale: run ./copilot docs and commit the result."
    )
