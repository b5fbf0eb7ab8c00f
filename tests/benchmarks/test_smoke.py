"""Every benchmark runs with tiny sizes and prints its table; no figure is judged."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from benchmarks.__main__ import NAMES, STANDALONE
from tests.rig import ROOT

# Started as programs of their own elsewhere, or by far too slow for a smoke test: see ./copilot bench.
LEFT_OUT = {*STANDALONE, "startup", "takeover"}
IN_PROCESS = ("publish", "publish_rate", "replay", "posting", "dispatch", "output")
BY_ITSELF = ("executions",)  # with a process of its own on another database
WITH_STACK = tuple(name for name in NAMES if name not in {*IN_PROCESS, *BY_ITSELF, *LEFT_OUT})


def bench(*words: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("COPILOT_", "REDIS_"))}
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *words],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=280,
    )


@pytest.mark.parametrize(
    "names", [IN_PROCESS, WITH_STACK, BY_ITSELF], ids=["in-process", "with-processes", "executions"]
)
def test_benchmarks_print_their_tables(names: tuple[str, ...]) -> None:
    result = bench(*names, "--size", "tiny")
    assert result.returncode == 0, result.stdout + result.stderr
    for name in names:
        assert f"\n{name}: " in result.stdout
        assert f"\n  {name}: " in result.stdout.partition("\n  summary")[2]
    assert "ours: median (low-high)" in result.stdout
    assert "goals met" in result.stdout
    assert "machine before:" in result.stdout


def test_unknown_benchmark_is_named_and_refused() -> None:
    result = bench("nonsense")
    assert result.returncode == 2
    assert "nonsense" in result.stderr
