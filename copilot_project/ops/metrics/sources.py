"""The tables whose final rows are counted, and what each row adds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from accounts.models import LedgerEntry
from chat.models import Attempt, Turn
from copilot_project.ops.metrics.numbers import Numbers
from durable.models import Cause
from executions.models import Execution
from tools import registry
from tools.models import Operation, ToolCall
from webhooks.models import WebhookDelivery

Row = Any


@dataclass(frozen=True, kw_only=True)
class CountedTable:
    """One table: `at` is the column of the time a row became final, `add` counts a row."""

    name: str
    rows: Callable[[], QuerySet[Any]]
    at: str
    columns: tuple[str, ...]
    add: Callable[[Numbers, Row], None]

    def between(self, start: datetime, end: datetime | None = None) -> QuerySet[Any]:
        limits = {f"{self.at}__gte": start} | ({f"{self.at}__lt": end} if end else {})
        return self.rows().filter(**limits)


def add_turn(numbers: Numbers, row: Row) -> None:
    numbers.count("ratchet_turns", row.status, row.end_reason)
    numbers.time("ratchet_turn_queue_seconds", row.queued_at, row.started_at)
    numbers.time("ratchet_turn_first_word_seconds", row.started_at, row.first_word_at)
    numbers.time("ratchet_turn_seconds", row.started_at, row.ended_at)


def add_attempt(numbers: Numbers, row: Row) -> None:
    numbers.count("ratchet_takeovers", row.cause)


def add_call(numbers: Numbers, row: Row) -> None:
    """Count a tool call; names the model made up become "unknown", as there may be any number of them."""
    name = row.name if registry.current().get(row.name) else "unknown"
    numbers.count("ratchet_tool_calls", name, row.state)
    numbers.time("ratchet_tool_call_seconds", row.started_at, row.ended_at, name)


def add_operation(numbers: Numbers, row: Row) -> None:
    numbers.count("ratchet_operations", row.status, row.end_reason)
    numbers.time("ratchet_operation_seconds", row.started_at, row.ended_at, row.tool_name)


def add_execution(numbers: Numbers, row: Row) -> None:
    numbers.count("ratchet_executions", row.status, row.end_reason)
    numbers.time("ratchet_execution_seconds", row.started_at, row.ended_at)


def add_delivery(numbers: Numbers, row: Row) -> None:
    numbers.count("ratchet_webhook_deliveries", row.status)


def add_charge(numbers: Numbers, row: Row) -> None:
    numbers.count("ratchet_tokens", "in", by=row.input_tokens)
    numbers.count("ratchet_tokens", "out", by=row.output_tokens)
    numbers.count("ratchet_cost_usd", row.kind, by=float(row.amount))


def calls_with_an_answer() -> QuerySet[Any]:
    """Return tool calls with a final result: the call of a running operation has only a preliminary one."""
    live = Operation.live().filter(key=OuterRef("key"))
    return ToolCall.objects.filter(~Exists(live))


SOURCES = (
    CountedTable(
        name="turns",
        rows=Turn.objects.all,
        at="ended_at",
        columns=("status", "end_reason", "queued_at", "started_at", "first_word_at", "ended_at"),
        add=add_turn,
    ),
    CountedTable(
        name="attempts",
        rows=lambda: Attempt.objects.exclude(cause=Cause.QUEUED),
        at="started_at",
        columns=("cause",),
        add=add_attempt,
    ),
    CountedTable(
        name="tool calls",
        rows=calls_with_an_answer,
        at="ended_at",
        columns=("name", "state", "started_at", "ended_at"),
        add=add_call,
    ),
    CountedTable(
        name="operations",
        rows=Operation.objects.all,
        at="ended_at",
        columns=("status", "end_reason", "tool_name", "started_at", "ended_at"),
        add=add_operation,
    ),
    CountedTable(
        name="executions",
        rows=Execution.objects.all,
        at="ended_at",
        columns=("status", "end_reason", "started_at", "ended_at"),
        add=add_execution,
    ),
    CountedTable(
        name="webhook deliveries",
        rows=WebhookDelivery.objects.all,
        at="ended_at",
        columns=("status",),
        add=add_delivery,
    ),
    CountedTable(
        name="ledger",
        rows=LedgerEntry.objects.all,
        at="created_at",
        columns=("kind", "input_tokens", "output_tokens", "amount"),
        add=add_charge,
    ),
)
