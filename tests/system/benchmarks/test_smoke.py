"""Benchmarks run with tiny sizes and print their tables; no figure is judged."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.harness import ROOT

SECONDS = 1_500  # for what hangs
pytestmark = pytest.mark.timeout(SECONDS + 60)
# One of each kind: in this process, with web and worker, and with many sockets. `./copilot bench --size tiny` runs all.
SHORT = ("publish", "posting", "first_token", "delivery")


def bench(*words: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("COPILOT_", "REDIS_"))}
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *words],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )


def test_benchmarks_print_their_tables() -> None:
    result = bench(*SHORT, "--size", "tiny")
    assert result.returncode == 0, result.stdout + result.stderr
    for name in SHORT:
        assert f"\n{name}: " in result.stdout
        assert f"\n  {name}: " in result.stdout.partition("\n  summary")[2]
    assert "ours: median (low-high)" in result.stdout
    assert "goals met" in result.stdout
    assert "machine before:" in result.stdout


def test_unknown_benchmark_is_named_and_refused() -> None:
    result = bench("nonsense")
    assert result.returncode == 2
    assert "nonsense" in result.stderr
