"""Run one benchmark in its own process: python -m benchmarks.child NAME SIZE."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

from benchmarks.environment import DATABASE, environment
from benchmarks.side_by_side import Report, Size, noise

RESULTS = "BENCH_RESULTS"


def main(name: str, size: Size) -> None:
    """Run `benchmarks.NAME.run(stack, size, report)` and print its table."""
    before = noise()
    with environment() as stack:
        module = importlib.import_module(f"benchmarks.{name}")  # its imports need Django set up
        report = Report(f"{name} on PostgreSQL" if os.environ.get(DATABASE) else name, module.TITLE)
        module.run(stack, size, report)
    report.remark(f"machine before: {before}; after: {noise()}")
    print(report.text(), flush=True)
    if kept := os.environ.get(RESULTS):
        report.keep(Path(kept))


if __name__ == "__main__":
    main(sys.argv[1], Size(sys.argv[2]))
