"""./copilot bench [NAME...] [--quick]: run the benchmarks, each in its own process, and print a summary."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.child import RESULTS
from benchmarks.environment import DATABASE, leave_in_order
from benchmarks.side_by_side import Size, table
from tests.harness import SHARED

ROOT = Path(__file__).resolve().parent.parent
NAMES = {
    "publish": "what it costs to send an event",
    "publish_rate": "400 busy turns through one writer",
    "llm_parse": "what it costs to read a model's stream",
    "delivery": "from the writer to 1 / 100 / 1,000 websockets",
    "first_token": "from POST to the first word, against asking the model directly",
    "holding": "turns that one worker process streams at once, and their memory",
    "replay": "reopening a turn of 10,000 events",
    "openai_door": "streaming a turn through /v1, against our own stream",
    "posting": "accepting a message, against a bare view",
    "turn_cost": "statements and CPU of a whole turn, against the least that could answer",
    "workers": "turns answered by two worker processes, against one",
    "chunk_cost": "CPU of worker and web process per chunk of an answer",
    "dispatch": "running a tool call, against calling its function",
    "operations": "from starting long work to its continuation, against asking twice",
    "executions": "running agents: tiny nodes, the first node, a hundred executions at once",
    "output": "making a tool's result fit for the model, against writing it as JSON",
    "frames": "answering others while four sockets send the largest frames",
    "takeover": "how long a turn stands still when its worker dies or leaves",
    "startup": "the second ./copilot up",
    "idle": "what ./copilot up costs while nobody uses it",
    "growth": "what a turn costs as history grows",
    "scale": "sweep, POST, claim, end and list with a million turns, against an empty system",
    "peers": "first word and processor time beside Chainlit, LangGraph and the AI SDK, which it installs",
}
STANDALONE = {"llm_parse"}  # prints its own figures and takes no size
ON_REQUEST = {"peers"}  # installs packages
# Depend on the database: with a server in BENCH_DATABASE_URL they run on SQLite first and then there.
ON_BOTH_DATABASES = {
    "first_token", "holding", "replay", "posting", "turn_cost", "workers", "chunk_cost", "growth", "peers",
}  # fmt: skip
SECONDS = 1_800
STOP_SECONDS = 60


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    size = Size.QUICK if options.quick else Size(options.size)
    leave_in_order()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault(SHARED, folder)  # all benchmarks copy one prepared database
        kept = Path(folder) / "results"
        failed = [
            name
            for name in options.names or chosen(size)
            for database in databases(name)
            if not run(name, size, kept, database)
        ]
        print("\n".join(summary(kept)))
    print(
        f"\nTook {time.monotonic() - started:.0f} s."
        + (f" Did not run: {', '.join(failed)}." if failed else "")
    )
    return 1 if failed else 0


def parse(arguments: list[str]) -> argparse.Namespace:
    listing = "\n".join(f"  {name:<14}{what}" for name, what in NAMES.items())
    parser = argparse.ArgumentParser(
        prog="copilot bench",
        epilog=f"benchmarks:\n{listing}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "names", nargs="*", choices=[*NAMES, []], metavar="NAME", help="which ones; all unless said"
    )
    parser.add_argument("--quick", action="store_true", help="smaller sizes, about two minutes in all")
    parser.add_argument("--size", choices=[size.value for size in Size], default=Size.FULL.value)
    return parser.parse_args(arguments)


def chosen(size: Size) -> list[str]:
    return [
        name for name in NAMES if name not in ON_REQUEST and (size is Size.FULL or name not in STANDALONE)
    ]


def databases(name: str) -> list[str]:
    """Return the servers on which a benchmark runs, one after the other; "" is SQLite."""
    server = os.environ.get(DATABASE, "")
    return ["", server] if server and name in ON_BOTH_DATABASES else [server]


def run(name: str, size: Size, kept: Path, database: str = "") -> bool:
    """Return False if the benchmark crashed; a missed goal is a result, not a failure."""
    command = [f"benchmarks.{name}"] if name in STANDALONE else ["benchmarks.child", name, size.value]
    print(f"\n--- {name}: {NAMES[name]}", flush=True)
    environment = os.environ | {RESULTS: str(kept), DATABASE: database}
    process = subprocess.Popen([sys.executable, "-m", *command], cwd=ROOT, env=environment)
    try:
        return process.wait(SECONDS) == 0
    except subprocess.TimeoutExpired:
        print(f"{name} took longer than {SECONDS} s and was stopped.")
        return False
    finally:
        process.terminate()  # also ends its own processes; does nothing if it has ended
        process.wait(STOP_SECONDS)


def summary(kept: Path) -> list[str]:
    if not kept.exists():
        return []
    reports = [json.loads(line) for line in kept.read_text().splitlines()]
    rows = [[f"{report['name']}: {row[0]}", *row[1:]] for report in reports for row in report["rows"]]
    missed = sum(row[-1] == "MISS" for row in rows)
    heads = ["summary", "baseline", "ours", "ratio", "goal", ""]
    return [
        "",
        *table(heads, rows),
        "",
        f"{sum(row[-1] == 'ok' for row in rows)} goals met, {missed} missed.",
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
