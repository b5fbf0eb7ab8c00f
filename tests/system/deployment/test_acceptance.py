"""The acceptance suite through a proxy without stickiness; this is its short form, all of it is

./copilot test tests/system/acceptance --stack=deployment --timeout=1200
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.harness import ROOT
from tests.needs import CLIENTS, POSTGRESQL, RABBITMQ, require

pytestmark = [pytest.mark.services, pytest.mark.node, pytest.mark.timeout(0)]
SHORT_FORM = (
    "tests/system/acceptance/test_turns.py",
    "tests/system/acceptance/test_ai_sdk.py",  # these share one deployment
    "tests/system/acceptance/test_openai_faults.py::test_client_cut_at_every_event_and_resumed_while_everything_dies",
)


def test_turns_and_stock_clients_do_as_well_on_a_deployment() -> None:
    require(POSTGRESQL, RABBITMQ, CLIENTS)
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--stack=deployment", *SHORT_FORM],
        cwd=ROOT,
        env=os.environ | {"PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout[-8_000:] + result.stderr[-2_000:]
    passed = re.search(r"(\d+) passed", result.stdout)
    assert passed is not None and int(passed[1]) >= 22 and "skipped" not in result.stdout
