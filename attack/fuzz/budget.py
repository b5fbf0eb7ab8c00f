"""Run batches of inputs in child processes with hard limits on CPU time and memory set by the kernel."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CPU_SECONDS = 3.0  # for one input, of the process that is given it
WALL_SECONDS = 600.0  # a hang; generous, because a busy machine starves even what is quick
GROWTH_BYTES = 500 * 1024 * 1024
ROOM_BYTES = 4 * 1024 * 1024 * 1024  # of address space, which threads and arenas reserve without using it
SHOWN_CHARACTERS = 300


@dataclass(frozen=True, kw_only=True)
class Target:
    """Something that takes strangers' values: how to make one, and how to hand it over.

    `give` returns a note to be counted, or raises AssertionError for what must not happen.
    """

    name: str
    make: Callable[[random.Random], Any]
    give: Callable[[Any], str]
    cpu_seconds: float = CPU_SECONDS


@dataclass(frozen=True, kw_only=True)
class Finding:
    """An input that cost too much or broke something; its seed and number reproduce it."""

    target: str
    seed: int
    number: int
    what: str

    def __str__(self) -> str:
        return f"{self.target}, seed {self.seed}, case {self.number}: {self.what}"


@dataclass
class Batch:
    """The results of some inputs to one target."""

    tried: int = 0
    notes: dict[str, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)


def input_of(target: Target, seed: int, number: int) -> Any:
    """Return the input with that number, always the same one."""
    return target.make(random.Random(f"{target.name} {seed} {number}"))


def run_batch(target: Target, *, seed: int, first: int, count: int) -> Batch:
    """Run this many inputs in a child process; continue after one that ended the child."""
    batch, number = Batch(), first
    while number < first + count:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            in_child(target, seed, range(number, first + count), writer)
        os.close(writer)
        number = read_results(target, seed, reader, child, batch, number)
    return batch


def in_child(target: Target, seed: int, numbers: range, writer: int) -> None:
    """Run the inputs, reporting each before and after, then exit. Never returns."""
    code = 1
    try:
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + ROOM_BYTES, used + ROOM_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for one in (signal.SIGPROF, signal.SIGALRM):
            signal.signal(one, signal.SIG_DFL)  # ends the process, whatever holds its interpreter
        with os.fdopen(writer, "w") as out:
            for number in numbers:
                made = input_of(target, seed, number)
                tell(out, number=number)
                tell(out, number=number, **give(target, made))
        code = 0
    except BaseException as error:  # noqa: BLE001 - the parent is told by the exit code
        sys.__stderr__ and print(error, file=sys.__stderr__)
    finally:
        os._exit(code)


def give(target: Target, made: Any) -> dict[str, Any]:
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark is today's level again
    before = high_water_bytes()
    signal.setitimer(signal.ITIMER_PROF, target.cpu_seconds)
    signal.setitimer(signal.ITIMER_REAL, WALL_SECONDS)
    try:
        found: dict[str, Any] = {"note": target.give(made)}
    except AssertionError as error:
        found = {"wrong": str(error)[:1_000]}
    except MemoryError:
        found = {"wrong": "MemoryError"}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
    grown = high_water_bytes() - before
    return {"wrong": f"took {grown // 2**20} MB"} if grown > GROWTH_BYTES else found


def high_water_bytes() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def tell(out: Any, **facts: Any) -> None:
    out.write(json.dumps(facts) + "\n")
    out.flush()


def read_results(target: Target, seed: int, reader: int, child: int, batch: Batch, number: int) -> int:
    """Read the reports of the child; return the number of the next input."""
    begun: int | None = None
    with os.fdopen(reader) as lines:
        for line in lines:
            facts = json.loads(line)
            number = facts["number"] + 1
            if "wrong" in facts:
                add(batch, target, seed, facts["number"], facts["wrong"])
            if len(facts) == 1:
                begun = facts["number"]
                continue
            batch.tried, begun = batch.tried + 1, None
            note = facts.get("note", "wrong")
            batch.notes[note] = batch.notes.get(note, 0) + 1
    _, status = os.waitpid(child, 0)
    if begun is not None:
        batch.tried += 1
        add(batch, target, seed, begun, ended_by(status, target))
    elif status and number == 0:
        raise RuntimeError(f"{target.name}: the child ended with {status} before its first input")
    return number


def ended_by(status: int, target: Target) -> str:
    if not os.WIFSIGNALED(status):
        return f"the process ended with code {os.waitstatus_to_exitcode(status)}"
    number = os.WTERMSIG(status)
    meaning = {
        signal.SIGPROF: f"more than {target.cpu_seconds:g} s of processor time",
        signal.SIGALRM: f"more than {WALL_SECONDS:g} s",
    }
    return meaning.get(signal.Signals(number), f"the process was ended by {signal.Signals(number).name}")


def add(batch: Batch, target: Target, seed: int, number: int, what: str) -> None:
    shown = repr(input_of(target, seed, number))[:SHOWN_CHARACTERS]
    batch.findings.append(
        Finding(target=target.name, seed=seed, number=number, what=f"{what}; input {shown}")
    )
