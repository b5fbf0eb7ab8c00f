"""Building tools as operations: gated, started once, and an error that keeps what was made."""

from __future__ import annotations

from typing import Any

import pytest

from executions.models import Agent
from tests.tools.conftest import Bench, call
from tests.tools.operations.conftest import bench, run, session
from tools.models import Operation, ToolCall

__all__ = ["bench", "session"]
pytestmark = pytest.mark.django_db(transaction=True)
BROKEN = {"name": "Broken", "nodes": [{"id": "x", "block_id": "invented"}], "links": []}
GATED: dict[str, dict[str, Any]] = {
    "create_agent": {"description": "greets people by name"},
    "edit_agent": {"agent_id": "x", "changes": "y"},
    "validate_agent_graph": {"agent_json": BROKEN},
    "fix_agent_graph": {"agent_json": BROKEN},
}


def test_the_four_gated_tools_refuse_until_the_guide_was_read(bench: Bench) -> None:
    refused = bench.run(*(call(name, id=name, **arguments) for name, arguments in GATED.items()))
    assert {finished.output["error"] for finished in refused} == {"try_again"}
    assert not Operation.objects.exists()
    bench.step += 1
    bench.run_one("get_agent_building_guide")
    bench.step += 1
    answers = bench.run(*(call(name, id=name, **arguments) for name, arguments in GATED.items()))
    kinds = [finished.output["type"] for finished in answers]
    assert kinds == ["operation_started", "operation_started", "validation_result", "fix_result"]


def test_customizing_needs_no_guide(bench: Bench) -> None:
    found = bench.run_one("customize_agent", store_slug="nobody/nothing", modifications="x").output
    assert found["type"] == "operation_started"


def test_an_error_keeps_the_json_where_the_model_reads_it(bench: Bench) -> None:
    bench.run_one("get_agent_building_guide")
    bench.step += 1
    [started] = bench.run(call("create_agent", agent_json=BROKEN))
    operation = run(Operation.objects.get(pk=started.output["operation_id"]))
    assert (operation.status, operation.end_reason) == ("failed", "invalid_agent")
    told = ToolCall.objects.get(key=operation.key).result
    assert told is not None
    assert (told["type"], told["error"]) == ("error", "invalid_agent")
    assert told["agent_json"]["nodes"][0]["block_id"] == "invented"
    assert told["problems"][0]["code"] == "unknown_block"
    assert not Agent.objects.exists()


def test_the_same_call_while_it_runs_is_in_progress(bench: Bench) -> None:
    bench.run_one("get_agent_building_guide")
    bench.step += 1
    [first] = bench.run(call("create_agent", description="greets people by name"))
    bench.step += 1
    [second] = bench.run(call("create_agent", id="c2", description="greets people by name"))
    assert (first.output["type"], second.output["type"]) == ("operation_started", "operation_in_progress")
    assert second.output["operation_id"] == first.output["operation_id"]
