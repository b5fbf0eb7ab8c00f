"""Tools whose effects a test can count, one per kind of effect; there only under COPILOT_TEST_TOOLS=1."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Any, Literal

from django.db.models import F
from pydantic import Field

from tests.testtools.models import TestEffect
from tools.base import Effect, OutsideAnswer, Reads, ToolArgs, ToolResult, tool
from tools.context import ToolContext
from tools.errors import AcceptedElsewhere, ModelRetry, ToolError

FOREIGN_FILE = "COPILOT_TEST_FOREIGN_FILE"


class Value(ToolResult):
    type: Literal["test_value"] = "test_value"
    message: str = "Done."
    value: Any = None


class PureArgs(ToolArgs):
    value: str = Field(default="", description="What to answer.")


@tool(reads=Reads.NOTHING)
def test_pure(args: PureArgs, context: ToolContext) -> Value:
    """Answer with the value. Leaves nothing behind."""
    return Value(value=args.value)


class SleepArgs(ToolArgs):
    seconds: float = Field(ge=0, le=600, description="How long.")
    deaf: bool = Field(default=False, description="Ignore the signal to stop.")


@tool(cap_seconds=120, reads=Reads.NOTHING)
def test_sleep(args: SleepArgs, context: ToolContext) -> Value:
    """Sleep, and tell how far it is."""
    start = time.monotonic()
    while (gone := time.monotonic() - start) < args.seconds:
        context.progress(gone / args.seconds, f"slept {gone:.1f} s")
        if args.deaf:
            time.sleep(0.02)
        elif context.cancelled.wait(min(0.1, args.seconds - gone)):
            context.stop_if_cancelled()
    return Value(value=args.seconds)


class HoldArgs(ToolArgs):
    marker: str = Field(description="A file that is not there yet; where it is, nothing happens.")


@tool(cap_seconds=300)
def test_hold(args: HoldArgs, context: ToolContext) -> Value:
    """Hold the interpreter for ever, once: no other thread of the process runs, and no handler of a signal."""
    if not Path(args.marker).exists():
        Path(args.marker).touch()
        re.match(r"(a+)+$", "a" * 60 + "b")
    return Value(value="let go")


class NoteArgs(ToolArgs):
    note: str = Field(default="", max_length=1000, description="What to write down.")
    seconds: float = Field(default=0, ge=0, le=60, description="How long to wait before it is written.")


def find_effect(args: NoteArgs, context: ToolContext) -> Value | None:
    found = TestEffect.objects.filter(key=context.key).first()
    return Value(message="Found.", value=found.note) if found else None


@tool(effect=Effect.EFFECTFUL, lookup=find_effect, reads=Reads.NOTHING)
def test_effect(args: NoteArgs, context: ToolContext) -> Value:
    """Write a row under the call's key. A second run is an error, so that a test sees it."""
    context.cancelled.wait(args.seconds)
    context.stop_if_cancelled()
    TestEffect.objects.create(key=context.key, note=args.note)
    return Value(value=args.note)


@tool(effect=Effect.IDEMPOTENT, reads=Reads.NOTHING)
def test_idempotent(args: NoteArgs, context: ToolContext) -> Value:
    """Write a row under the call's key and count how often that was done."""
    context.cancelled.wait(args.seconds)
    effect, made = TestEffect.objects.get_or_create(key=context.key, defaults={"note": args.note})
    if not made:
        TestEffect.objects.filter(pk=effect.pk).update(times=F("times") + 1)
    return Value(value=args.note)


@tool(effect=Effect.FOREIGN, reads=Reads.NOTHING)
def test_foreign_effect(args: NoteArgs, context: ToolContext) -> Value:
    """Append a line to the file named by the environment: an effect that cannot be looked up."""
    context.cancelled.wait(args.seconds)
    context.stop_if_cancelled()
    with Path(os.environ[FOREIGN_FILE]).open("a") as file:
        file.write(f"{context.key}\t{args.note}\n")
    return Value(value=args.note)


class FailArgs(ToolArgs):
    how: Literal["retry", "final", "crash", "exit", "recursion"] = Field(
        default="final", description="In which way."
    )


@tool(reads=Reads.NOTHING)
def test_fail(args: FailArgs, context: ToolContext) -> Value:
    """Fail."""
    match args.how:
        case "retry":
            raise ModelRetry("Ask for something else.")
        case "final":
            raise ToolError("It cannot be done.")
        case "exit":
            raise SystemExit(3)
        case "recursion":
            return test_fail(args, context)  # type: ignore[return-value]
        case "crash":
            raise RuntimeError("the secret is hunter2")


@tool(reads=Reads.NOTHING)
def test_quoting_crash(args: NoteArgs, context: ToolContext) -> Value:
    """Fail with an error that quotes what it was given, as careless code does."""
    raise ValueError(f"cannot make sense of {args.note!r}")


class BigArgs(ToolArgs):
    characters: int = Field(default=0, ge=0, le=100_000_000)
    items: int = Field(default=0, ge=0, le=1_000_000)
    depth: int = Field(default=0, ge=0, le=100_000)


@tool(reads=Reads.NOTHING)
def test_big_output(args: BigArgs, context: ToolContext) -> Value:
    """Answer with a long text, a long list or a deep tree."""
    value: Any = "x" * args.characters
    if args.items:
        value = [{"number": number, "text": value} for number in range(args.items)]
    for _ in range(args.depth):
        value = {"inner": value}
    return Value(value=value)


class OperationArgs(ToolArgs):
    seconds: float = Field(default=0, ge=0, le=600, description="How long it takes.")
    note: str = Field(default="", max_length=1000, description="What comes of it.")
    fail: bool = False
    accepted: bool = Field(default=False, description="Let an outside service answer.")
    hold: str = Field(default="", max_length=200, description="Wait until a file of that name is there.")


def work(args: OperationArgs, context: ToolContext) -> Value:
    """Long work that leaves one line in the effects file each time it is done."""
    begun = time.monotonic()
    while (gone := time.monotonic() - begun) < args.seconds or (args.hold and not Path(args.hold).exists()):
        share = min(1.0, gone / args.seconds) if args.seconds else 0.5
        context.progress(share, f"{gone:.1f} seconds gone")
        context.cancelled.wait(0.05)
        context.stop_if_cancelled()
    if args.accepted:
        raise AcceptedElsewhere("The test service has it.")
    if args.fail:
        raise ToolError("It could not be done.")
    if FOREIGN_FILE in os.environ:
        with Path(os.environ[FOREIGN_FILE]).open("a") as file:
            file.write(f"{context.key}\t{args.note}\n")
    return Value(message=f"The long work is done: {args.note}", value=args.note)


@tool(effect=Effect.IDEMPOTENT, long_running=True, reads=Reads.NOTHING)
def test_operation(args: OperationArgs, context: ToolContext) -> Value:
    """Work for a while as an operation; done again after a crash."""
    return work(args, context)


@tool(effect=Effect.FOREIGN, long_running=True, cap_seconds=30, reads=Reads.NOTHING)
def test_foreign_operation(args: OperationArgs, context: ToolContext) -> Value:
    """Work for a while as an operation that must not be done twice."""
    return work(args, context)


class HandedOverArgs(ToolArgs):
    note: str = Field(default="", max_length=1000, description="What to write down with the answer.")
    seconds: float = Field(default=0, ge=0, le=600, description="How long it takes to hand it over.")
    receive_seconds: float = Field(default=0, ge=0, le=600, description="How long it takes to make a result.")
    again: bool = Field(default=False, description="Hand it over once more when it comes back.")


def receive_answer(args: HandedOverArgs, answer: OutsideAnswer, context: ToolContext) -> Value:
    """Keep the answer in a row that is written with the result, and leave one line in the effects file."""
    value = answer.unwrap()
    if args.again:
        raise AcceptedElsewhere("Once more.")
    if not isinstance(value, dict) or "made" not in value:
        raise ToolError("The service answered nonsense.", code="bad_answer", answer=value)
    context.cancelled.wait(args.receive_seconds)
    context.stop_if_cancelled()
    note = f"{args.note}: {value['made']}"
    context.with_result(lambda: TestEffect.objects.create(key=context.key, note=note))
    if FOREIGN_FILE in os.environ:
        with Path(os.environ[FOREIGN_FILE]).open("a") as file:
            file.write(f"{context.key}\t{note}\n")
    return Value(message="Made of what came back.", value=note)


def hand_over(args: HandedOverArgs, context: ToolContext) -> Value:
    context.cancelled.wait(args.seconds)
    context.stop_if_cancelled()
    raise AcceptedElsewhere("The test service has it.")


@tool(effect=Effect.IDEMPOTENT, long_running=True, receive=receive_answer, reads=Reads.NOTHING)
def test_handed_over(args: HandedOverArgs, context: ToolContext) -> Value:
    """Let an outside service do it, and make something of its answer."""
    return hand_over(args, context)


@tool(effect=Effect.FOREIGN, long_running=True, receive=receive_answer, reads=Reads.NOTHING)
def test_foreign_handed_over(args: HandedOverArgs, context: ToolContext) -> Value:
    """The same, where making something of the answer must not be done twice."""
    return hand_over(args, context)
