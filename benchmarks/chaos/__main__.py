"""./copilot chaos [F1 F3 ...] [--short]: break things under load and show what came of it."""

from __future__ import annotations

import argparse
import sys
import time

from benchmarks.ground import ground
from tests.rig import Stack

LEASE_SECONDS = 3.0


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="copilot chaos", description="Fault injection; see docs/reliability.md."
    )
    parser.add_argument("names", nargs="*", metavar="F1", help="which scenarios; all unless said")
    parser.add_argument(
        "--short", action="store_true", help="about a minute and a half: F1 F4 F5 F6 F9 F14 F17"
    )
    parser.add_argument("--lease", type=float, default=LEASE_SECONDS, help="seconds; production has 15")
    options = parser.parse_args(arguments)
    started = time.monotonic()
    with ground(lease_seconds=options.lease) as stack:
        from benchmarks.chaos.running import choose, run_all  # needs Django set up

        wanted = choose(options.names, short=options.short)
        if wanted is None:
            return 2
        if wanted:
            start(stack)
        broken = run_all(stack, wanted, short=options.short)
    print(f"\nTook {time.monotonic() - started:.0f} s.")
    return 1 if broken else 0


def start(stack: Stack) -> None:
    """The model, one web process, two workers; Redis runs already."""
    stack.start_model()
    stack.start_web(0)
    for number in range(2):
        stack.start_worker(number)
    stack.wait_ready(2)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
