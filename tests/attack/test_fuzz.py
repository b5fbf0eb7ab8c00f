"""Hostile inputs for every parser, block and tool: a few each, the same every time; and the budget they run under."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time

import pytest

from attack.fuzz import corpus
from attack.fuzz.budget import Target, input_of, run_batch
from tests.harness import ROOT

SECONDS = 1_500  # for what hangs; each input has a budget of its own


def nothing(chance: random.Random) -> None:
    return None


def target(give: object, **more: float) -> Target:
    return Target(name="t", make=nothing, give=give, **more)  # type: ignore[arg-type]


def spin(made: object) -> str:
    until = time.process_time() + 30
    while time.process_time() < until:
        pass
    return "answered"


def take_memory(made: object) -> str:
    return f"{len(bytearray(700 * 1024 * 1024))}"


def die(made: object) -> str:
    os._exit(7)


def complain(made: object) -> str:
    raise AssertionError("this must not happen")


@pytest.mark.timeout(SECONDS + 60)
def test_a_few_inputs_to_everything_stay_in_budget() -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("COPILOT_", "REDIS_"))}
    command = [sys.executable, "-m", "attack", "--fuzz", "--short"]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Every one was answered in budget." in done.stdout


@pytest.mark.parametrize(
    ("give", "words"),
    [
        (spin, "1 s of processor time"),
        (take_memory, "MB"),
        (die, "code 7"),
        (complain, "this must not happen"),
    ],
)
def test_what_an_input_costs_or_breaks_is_found_and_the_next_one_is_given(give: object, words: str) -> None:
    batch = run_batch(target(give, cpu_seconds=1.0), seed=0, first=0, count=2)
    assert batch.tried == 2
    assert [finding.number for finding in batch.findings] == [0, 1]
    assert words in str(batch.findings[0])


def test_inputs_that_are_answered_are_counted_by_their_note() -> None:
    batch = run_batch(target(lambda made: "answered"), seed=0, first=0, count=5)
    assert (batch.tried, batch.notes, batch.findings) == (5, {"answered": 5}, [])


def test_the_same_seed_and_number_make_the_same_input() -> None:
    made = Target(name="c", make=corpus.content, give=str)
    assert input_of(made, 1, 2) == input_of(made, 1, 2)
    assert len({input_of(made, 1, number) for number in range(20)}) > 10


@pytest.mark.parametrize(
    "kind", ["string", "integer", "boolean", "array", "object", "null", "nothing we know"]
)
def test_every_kind_of_schema_has_hostile_values(kind: str) -> None:
    made = [corpus.value({"type": kind}, random.Random(number)) for number in range(50)]
    assert len({repr(one)[:200] for one in made}) > 1
