"""Which tests `./copilot test` leaves to `./copilot test --all`, and how many examples property tests try.

They start whole systems, servers of their own or many processes, install packages, read the whole code, move a lot of
data, or repeat other tests on PostgreSQL. Everything else is the fast tier. A test that is named on the command line
runs whatever its tier.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

TESTS = Path(__file__).resolve().parent
ONLY_IN_ALL = (
    "attack/test_fuzz.py",
    "chat/delivery/test_long_steps.py",
    "chat/delivery/test_server.py",
    "code/test_quality.py",
    "code/test_regexes.py",
    "connections/test_client.py",
    "connections/test_conformance.py",
    "copilot_project/launcher/test_copilot_script.py",
    "copilot_project/launcher/test_frozen.py",
    "copilot_project/launcher/test_up.py",
    "copilot_project/ops/test_backup.py",
    "copilot_project/test_production.py",
    "docs/test_deploy_guide.py",
    "durable/test_backlog.py",
    "durable/test_rabbitmq.py",
    "durable/test_worker_signals.py",
    "llm/test_foreign_server.py",
    "scale",
    "system/acceptance",
    "system/attack",
    "system/benchmarks",
    "system/browser",
    "system/chaos",
    "system/deployment",
    "system/observability",
    "system/test_on_postgresql.py",
    "workspace/test_s3.py",
)


def is_only_in_all(path: Path) -> bool:
    return path.is_relative_to(TESTS) and any(path.is_relative_to(TESTS / name) for name in ONLY_IN_ALL)


class Examples:
    """How much of their examples property tests try in this run."""

    share = 1.0  # of tests that are named
    shares: ClassVar[dict[str, float]] = {"fast": 0.2, "all": 0.5}
    fewest = 3


def examples(number: int) -> int:
    """So many examples, or a sample of them in a run of a whole tier."""
    return max(min(number, Examples.fewest), round(number * Examples.share))
