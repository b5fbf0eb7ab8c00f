"""The overhead of a tool call: intent row, thread, output processing and result row."""

from __future__ import annotations

import itertools

from django.db import transaction

from benchmarks.conversations import claimed_turn, new_session
from benchmarks.side_by_side import Report, Size, alternate, cpu_per_item
from chat.engine.journal import TurnJournal
from durable.ids import new_id
from durable.lease import Lease
from durable.stop_signal import StopSignal
from llm.types import ToolCallRequest
from tests.harness import Stack
from tests.testtools.copilot_tools import PureArgs, test_pure
from tools import registry
from tools.base import Effect
from tools.context import ToolContext
from tools.dispatch import CallScope, run_calls
from tools.models import ToolCall
from tools.permissions import Permissions

TITLE = "one call of a pure tool, CPU of the whole process"
PER_STEP = 10


def run(stack: Stack, size: Size, report: Report) -> None:
    count = size.pick(10, 60, 300)
    bench = Bench(claimed_turn(new_session()))
    bench.dispatch(1)  # discover the tools before anything is measured
    found = alternate(
        {
            "function": lambda: cpu_per_item(lambda: bench.call(count * 20), count * 20),
            "rows": lambda: cpu_per_item(lambda: bench.write_rows(count), count),
            "one": lambda: cpu_per_item(lambda: bench.steps_of(1, count), count),
            "ten": lambda: cpu_per_item(
                lambda: bench.steps_of(PER_STEP, count // PER_STEP), count // PER_STEP * PER_STEP
            ),
        },
        size.repetitions,
    )
    report.add("dispatch of one call, against calling the function", "us", found["one"], found["function"])
    report.add("dispatch of one call, against writing its two rows", "us", found["one"], found["rows"])
    report.add(
        f"a call among {PER_STEP} of one step, against writing its two rows",
        "us",
        found["ten"],
        found["rows"],
    )


class Bench:
    """One turn whose steps ask for calls."""

    def __init__(self, lease: Lease) -> None:
        self.lease = lease
        self.steps = itertools.count()
        self.session_id = new_id()
        registry.current()

    def call(self, count: int) -> None:
        context = ToolContext(
            user_id=None,
            session_id=self.session_id,
            turn_id=self.lease.job_id,
            step=0,
            call_id="x",
            key="x",
            permissions=Permissions(),
            cancelled=StopSignal(),
            deadline=1e18,
            channel=None,  # type: ignore[arg-type]
        )
        for _ in range(count):
            test_pure.run(PureArgs(value="x"), context)

    def write_rows(self, count: int) -> None:
        """Do the minimum that survives a crash: insert a row before, update it after."""
        for _ in range(count):
            with transaction.atomic():
                row = ToolCall.objects.create(
                    key=str(new_id()), turn_id=self.lease.job_id, session_id=self.session_id, step=10**6, index=0,
                    call_id="x", name="x", arguments={}, effect=Effect.PURE, attempt=1, state=ToolCall.State.STARTED,
                )  # fmt: skip
            with transaction.atomic():
                ToolCall.objects.filter(pk=row.pk).update(
                    state=ToolCall.State.SUCCEEDED, result={"value": "x"}
                )

    def steps_of(self, calls: int, steps: int) -> None:
        for _ in range(steps):
            self.dispatch(calls)

    def dispatch(self, count: int) -> None:
        scope = CallScope(
            user_id=None,
            session_id=self.session_id,
            turn_id=self.lease.job_id,
            step=next(self.steps),
            attempt=self.lease.attempt,
            permissions=Permissions(),
            cancelled=self.lease.stop,
        )
        calls = [
            ToolCallRequest(id=f"c{n}", name="test_pure", arguments='{"value": "x"}') for n in range(count)
        ]
        ended = run_calls(calls, scope, TurnJournal(self.lease, frozenset(), lambda: None))
        assert all(call.state == ToolCall.State.SUCCEEDED for call in ended), ended[0]
