"""The definition of an attack, and the table of all attacks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attack.site import Site

Run = Callable[["Site"], None]


class Section(StrEnum):
    """Where an attack is aimed, in the order of the table."""

    AUTH = "Logins and websockets"
    ACCESS = "Other people's objects"
    SSRF = "Requests into the own network"
    SANDBOX = "Code in the sandbox"
    FILES = "Files"
    WEBHOOKS = "Webhooks"
    MODEL = "Model output"
    LIMITS = "Limits"
    SECRETS = "Secrets and operation"
    PARSING = "Content made to be slow"
    INJECTION = "Prompt injection"
    OPENAI = "The OpenAI API"


class WentThrough(Exception):
    """The attack succeeded; the text says how."""


class NotHere(Exception):
    """The attack cannot be run here; the text says what is missing."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One attack, tried by `run` or proven by existing tests."""

    number: str
    section: Section
    what: str
    expected: str
    run: Run | None = None
    tests: tuple[str, ...] = ()
    anywhere: bool = False  # needs only the URL of the site and two API keys
    slow: bool = False  # left out of the short form

    @property
    def by_attack(self) -> bool:
        return self.run is not None

    @property
    def how(self) -> str:
        return "by attack" if self.by_attack else "by test"

    @property
    def order(self) -> tuple[int, str]:
        digits = self.number.rstrip("abcdefghijklmnopqrstuvwxyz")
        return int(digits), self.number[len(digits) :]


CASES: dict[str, Case] = {}


def attack(
    number: int | str,
    section: Section,
    what: str,
    expected: str,
    *,
    tests: Iterable[str] = (),
    anywhere: bool = False,
    slow: bool = False,
) -> Callable[[Run], Run]:
    """Register the decorated function as an attack; `tests` cover what it leaves out."""

    def add(run: Run) -> Run:
        register(number, section, what, expected, run=run, tests=tests, anywhere=anywhere, slow=slow)
        return run

    return add


def proven_by(number: int | str, section: Section, what: str, expected: str, *tests: str) -> None:
    """Register an attack that is covered by tests of the suite, given by their ids, as it needs internals."""
    register(number, section, what, expected, tests=tests)


def register(
    number: int | str,
    section: Section,
    what: str,
    expected: str,
    *,
    run: Run | None = None,
    tests: Iterable[str] = (),
    anywhere: bool = False,
    slow: bool = False,
) -> None:
    name = str(number)
    if name in CASES:
        raise ValueError(f"Case {name} is defined twice.")
    CASES[name] = Case(
        number=name,
        section=section,
        what=what,
        expected=expected,
        run=run,
        tests=tuple(f"tests/{test}" for test in tests),
        anywhere=anywhere,
        slow=slow,
    )


def expect(holds: object, instead: str) -> None:
    """Raise WentThrough, saying what happened instead, unless `holds` is true."""
    if not holds:
        raise WentThrough(instead)


def expect_status(found: int, *allowed: int, what: str = "the answer") -> None:
    expect(found in allowed, f"{what} was {found}, not {' or '.join(map(str, allowed))}")
