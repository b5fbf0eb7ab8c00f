"""The short form of some scenarios, as `./copilot chaos` runs them: nothing lost, doubled, stuck or shown wrongly."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.harness import ROOT
from tests.needs import POSTGRESQL_PROGRAMS, RABBITMQ_SERVER, require

SECONDS = 1_500  # for what hangs; each promise has limits of its own inside
pytestmark = [pytest.mark.chaos, pytest.mark.timeout(SECONDS + 60)]


def chaos(*words: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("COPILOT_", "REDIS_"))}
    return subprocess.run(
        [sys.executable, "-m", "benchmarks.chaos", *words],
        cwd=ROOT, env=env, capture_output=True, text=True, timeout=SECONDS,
    )  # fmt: skip


def test_killed_redis_cut_connections_and_doubled_pokes_break_no_promise() -> None:
    result = chaos("F5", "F9", "F14", "--short")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Every promise was kept." in result.stdout
    for name in ("F5", "F9", "F14"):
        row = next(line for line in result.stdout.splitlines() if line.startswith(f"  {name} "))
        assert " 0  " in row


@pytest.mark.services
def test_production_stack_keeps_its_promises_when_workers_and_database_die() -> None:
    require(POSTGRESQL_PROGRAMS, RABBITMQ_SERVER)
    result = chaos("F1", "F26", "F27", "F32", "--short", "--stack", "production")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Every promise was kept." in result.stdout


def test_scenario_of_the_production_stack_says_what_it_needs() -> None:
    result = chaos("F26")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "add --stack production" in result.stdout


def test_scenario_that_does_not_exist_is_named_and_refused() -> None:
    result = chaos("F99")
    assert result.returncode == 2
    assert "there is no such scenario" in result.stdout


def test_scenario_that_does_not_apply_says_why() -> None:
    result = chaos("F2")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "no pool child" in result.stdout
