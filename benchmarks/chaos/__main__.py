"""./copilot chaos [F1 F3 ...] [--short] [--stack production]: inject faults under load and report the results."""

from __future__ import annotations

import argparse
import sys
import time

from benchmarks.chaos.stacks import chaos_environment
from tests.services import ServerMissing

LEASE_SECONDS = 3.0


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="copilot chaos", description="Fault injection; see docs/reference/fault-injection.md."
    )
    parser.add_argument("names", nargs="*", metavar="F1", help="which scenarios; all unless said")
    parser.add_argument(
        "--short", action="store_true", help="a few minutes: each scenario small, the slowest ones left out"
    )
    parser.add_argument("--lease", type=float, default=LEASE_SECONDS, help="seconds; production has 15")
    parser.add_argument(
        "--stack",
        choices=("small", "production"),
        default="small",
        help="SQLite and Redis; or PostgreSQL, RabbitMQ and Redis, two web processes and three workers behind a proxy",
    )
    options = parser.parse_args(arguments)
    started = time.monotonic()
    try:
        broken = run(options)
    except ServerMissing as error:
        print(error)
        return 2
    if broken is None:
        return 2
    print(f"\nTook {time.monotonic() - started:.0f} s.")
    return 1 if broken else 0


def run(options: argparse.Namespace) -> bool | None:
    """Return whether a guarantee was broken; None if a requested scenario does not exist."""
    with chaos_environment(options.stack, lease_seconds=options.lease) as stack:
        from benchmarks.chaos.running import choose, run_all  # needs Django set up

        wanted = choose(options.names, stack, short=options.short)
        if wanted is None:
            return None
        if wanted:
            stack.start_all()
        return run_all(stack, wanted, short=options.short)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
