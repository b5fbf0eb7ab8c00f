"""The cost of preparing a tool result for the model, compared with writing it as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.side_by_side import Report, Size, alternate, cpu_per_item
from tests.harness import Stack
from tools.output import show_value
from workspace.preview import KeepsNothing

TITLE = "redaction, cutting and notes; CPU per result"


def run(stack: Stack, size: Size, report: Report) -> None:
    count = size.pick(1, 10, 40)
    for name, value, times in results():
        written = len(json.dumps(value)) / 2**20
        ways = {
            "json": measured(partial(json.dumps, value), count * times),
            "ours": measured(partial(show_value, value, KeepsNothing(), name="x"), count * times),
        }
        found = alternate(ways, size.repetitions)
        report.add(f"{name} ({written:.2f} MB)", "us", found["ours"], found["json"])
        report.add(f"{name}: throughput", "MB/s", written / (found["ours"].median / 1e6))


def results() -> list[tuple[str, Any, int]]:
    row = {"id": 1, "name": "Ada Lovelace", "email": "ada@example.org", "tags": ["a", "b"], "score": 0.5}
    return [
        ("a small result", {"type": "x", "message": "Done.", "rows": [row] * 5}, 100),
        ("a long text", {"type": "x", "text": "words and more words " * 50_000}, 1),
        ("a long list", {"type": "x", "rows": [row] * 10_000}, 1),
    ]


def measured(work: Callable[[], object], times: int) -> Callable[[], float]:
    return lambda: cpu_per_item(lambda: [work() for _ in range(times)], times)
