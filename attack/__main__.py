"""./copilot attack [NUMBER|SECTION ...]: run the known attacks against a test site and report which were held off."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence

import attack.cases  # noqa: F401  # fills the table of cases
from attack import page
from attack.case import CASES, Case, Section
from attack.runner import Outcome, Verdict, summary, try_attack, try_tests
from attack.site import Site, given_site, own_site

WENT_THROUGH, WRONG_USE = 1, 2


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    wanted = choose(options.names)
    if wanted is None:
        return WRONG_USE
    if options.list:
        print("\n".join(listing(wanted)))
        return 0
    if options.fuzz or options.schema:
        return run_long_form(options)
    started = time.monotonic()
    outcomes = run(options, wanted)
    print(f"\n{summary(outcomes)}. Took {time.monotonic() - started:.0f} s.")
    if options.write_docs:
        page.write(outcomes)
    return WENT_THROUGH if any(one.verdict is Verdict.WENT_THROUGH for one in outcomes) else 0


def parse(arguments: list[str]) -> argparse.Namespace:
    sections = "\n".join(f"  {section.name.lower():<12}{section}" for section in Section)
    parser = argparse.ArgumentParser(
        prog="copilot attack",
        description="Run the known attacks; exits with 1 if one succeeded. See docs/reference/attacks.md.",
        epilog=f"sections:\n{sections}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NUMBER|SECTION", help="cases to run; all by default")
    parser.add_argument("--list", action="store_true", help="list the cases and try nothing")
    parser.add_argument(
        "--short",
        action="store_true",
        help="what CI runs: no slow attack, nothing that tests prove; one round of --schema and --fuzz",
    )
    parser.add_argument("--url", help="a site that runs already; yours, or one whose owner agreed")
    parser.add_argument(
        "--write-docs", action="store_true", help="write the table of docs/reference/attacks.md"
    )
    parser.add_argument(
        "--schema", action="store_true", help="send made-up requests for every operation of the API"
    )
    parser.add_argument("--fuzz", action="store_true", help="give parsers, blocks and tools hostile inputs")
    parser.add_argument("--minutes", type=float, default=10.0, help="how long --schema and --fuzz go on (10)")
    parser.add_argument("--seed", type=int, default=0, help="where --schema and --fuzz begin (0)")
    return parser.parse_args(arguments)


def choose(names: Sequence[str]) -> list[Case] | None:
    """Return the cases of these numbers and sections; print an error and return None if a name is unknown."""
    everything = sorted(CASES.values(), key=lambda case: case.order)
    sections = {section.name.lower(): section for section in Section}
    unknown = [name for name in names if name not in CASES and name.lower() not in sections]
    if unknown:
        print(f"{unknown[0]}: no such case or section. Use --list to see all of them.")
        return None
    picked = {sections[name.lower()] for name in names if name.lower() in sections}
    return [case for case in everything if not names or case.number in names or case.section in picked]


def listing(wanted: Sequence[Case]) -> list[str]:
    return [
        f"{case.number:>5}  {case.section.name.lower():<10} {case.how:<10} {case.what}; expected: {case.expected}"
        for case in wanted
    ]


def run(options: argparse.Namespace, wanted: Sequence[Case]) -> list[Outcome]:
    attacks = [case for case in wanted if case.by_attack and not (options.short and case.slow)]
    tests = [] if options.short or options.url else [case for case in wanted if not case.by_attack]
    outcomes: list[Outcome] = []
    if options.url:
        keys = [os.environ.get(name, "") for name in ("ATTACK_KEY", "ATTACK_OTHER_KEY")]
        if not all(keys):
            print("Set ATTACK_KEY and ATTACK_OTHER_KEY to API keys of two users of that site.")
            sys.exit(WRONG_USE)
        with given_site(options.url, *keys) as site:
            outcomes += try_all(site, [case for case in attacks if case.anywhere])
    elif attacks:
        with own_site() as site:
            outcomes += try_all(site, attacks)
    if tests:
        outcomes += show(try_tests(tests))
    return outcomes


def try_all(site: Site, cases: Sequence[Case]) -> list[Outcome]:
    return [outcome for case in cases for outcome in show([try_attack(case, site)])]


def show(outcomes: list[Outcome]) -> list[Outcome]:
    for outcome in outcomes:
        print(outcome.line(), flush=True)
    return outcomes


def run_long_form(options: argparse.Namespace) -> int:
    if options.schema:
        from attack.schema import main as try_schema

        return try_schema(seconds=options.minutes * 60, seed=options.seed, short=options.short)
    from attack.fuzz import main as fuzz

    return fuzz(seconds=options.minutes * 60, seed=options.seed, short=options.short)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
