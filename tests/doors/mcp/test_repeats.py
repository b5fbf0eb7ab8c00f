"""Which calls are the same, and for how long."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from doors.callers import Caller
from doors.mcp import protocol, repeats
from doors.mcp.errors import BadParams
from doors.mcp.exchange import Exchange
from doors.mcp.providers import McpCall
from executions.models import Agent, Execution

Make = Callable[..., Exchange]


def call(exchange: Make, arguments: dict[str, Any], key: Any = None) -> McpCall:
    meta = {} if key is None else {protocol.META_IDEMPOTENCY_KEY: key}
    return McpCall(exchange=exchange(_meta=meta), arguments=arguments)


def test_order_of_arguments_does_not_matter(exchange: Make) -> None:
    one = repeats.identify(call(exchange, {"a": 1, "b": {"c": 2, "d": 3}}), "x")
    two = repeats.identify(call(exchange, {"b": {"d": 3, "c": 2}, "a": 1}), "x")
    assert one == two
    assert repeats.identify(call(exchange, {"a": 2}), "x") != one != repeats.identify(call(exchange, {}), "y")


def test_chosen_key_counts_instead_of_the_arguments(exchange: Make) -> None:
    one = repeats.identify(call(exchange, {"a": 1}, "k"), "x")
    assert one == repeats.identify(call(exchange, {"a": 2}, "k"), "x")
    assert one != repeats.identify(call(exchange, {"a": 1}, "l"), "x")


@pytest.mark.parametrize("key", ["", "x" * 300, 7, []])
def test_unusable_key_is_refused(exchange: Make, key: Any) -> None:
    with pytest.raises(BadParams):
        repeats.identify(call(exchange, {}, key), "x")


def test_result_that_was_sent_no_longer_answers_the_call(exchange: Make, caller: Caller) -> None:
    name = repeats.identify(call(exchange, {}), "x").client_id
    agent = Agent.objects.create(user=caller.user, name="A")
    row = Execution.objects.create(
        user=caller.user, agent=agent, version=1, status=Execution.RUNNING, client_id=name
    )
    repeats.release(row)
    row.refresh_from_db()
    assert row.client_id == name, "it runs"
    Execution.objects.filter(pk=row.pk).update(status=Execution.COMPLETED, ended_at=timezone.now())
    row.refresh_from_db()
    assert repeats.is_lost(row)
    repeats.release(row)
    repeats.release(row)
    row.refresh_from_db()
    assert row.client_id == f"{name}:{row.pk.hex}"
    row.ended_at = timezone.now() - timedelta(hours=1)
    assert not repeats.is_lost(row)
