"""One trace a turn, from the request through the worker to the model and the tools, as a real collector gets it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from websockets.sync.client import connect

from copilot_project import limits
from copilot_project.ops.tracing.sdk import PatientExporter, span_id_of
from durable import tracing
from tests.executions.engine.graphs import agent_json
from tests.harness import ROOT, Client, Stack, eventually
from tests.system.observability.watched import Collected, Span, watched_stack
from tests.webhooks.receiver import Receiver, receiving

SERVER, CLIENT, CONSUMER = 2, 3, 5


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


@pytest.fixture(scope="module")
def watched(short_tmp: Path, receiver: Receiver) -> Iterator[tuple[Stack, Collected]]:
    env = {"LOG_FORMAT": "json", "BOUNDARY_ALLOWED_HOSTS": receiver.host}
    with watched_stack(short_tmp / "t", env=env) as running:
        yield running


@pytest.fixture
def stack(watched: tuple[Stack, Collected]) -> Stack:
    return watched[0]


@pytest.fixture
def collected(watched: tuple[Stack, Collected]) -> Collected:
    return watched[1]


@pytest.fixture
def client(stack: Stack) -> Client:
    return stack.client()


def answered(client: Client, *steps: dict[str, Any]) -> str:
    turn = client.send(client.new_session(), {"steps": list(steps)})
    assert client.wait(turn["id"])["end_reason"] == "done"
    return str(turn["id"])


def trace_of(collected: Collected, job: str, job_id: str, attempt: int = 1) -> list[Span]:
    """Once the job's own span has come, and whatever the spans there stand under, from whichever process."""

    def whole() -> list[Span]:
        spans = collected.trace_with(job, job_id=job_id, attempt=attempt)
        known = {span["id"] for span in spans} | {""}
        return spans if all(span["parent"] in known for span in spans) else []

    return eventually(whole, what=f"the trace of {job} {job_id}")


def only(spans: Sequence[Span], name: str, **attributes: Any) -> Span:
    wanted = {f"ratchet.{key}": value for key, value in attributes.items()}
    found = [span for span in spans if span["name"] == name]
    found = [span for span in found if wanted.items() <= span["attributes"].items()]
    assert len(found) == 1, (name, [span["name"] for span in spans])
    return found[0]


CALL = {"name": "test_effect", "arguments": {"note": "x"}}


def test_a_message_with_a_tool_call_is_one_connected_trace(client: Client, collected: Collected) -> None:
    turn_id = answered(client, {"text": "One. ", "tool_calls": [CALL]}, {"text": "Two."})
    spans = trace_of(collected, "turn", turn_id)
    request = only(spans, "POST /api/sessions/<str:key>/turns")
    turn = only(spans, "turn")
    first, second = only(spans, "step", step=0), only(spans, "step", step=1)
    tool = only(spans, "execute_tool test_effect")
    models = [span for span in spans if span["name"] == "chat offline"]
    assert (request["parent"], request["kind"]) == ("", SERVER)
    assert request["attributes"]["http.response.status_code"] == 202
    assert (turn["parent"], turn["kind"]) == (request["id"], CONSUMER)
    assert turn["attributes"]["ratchet.end_reason"] == "done"
    assert first["parent"] == second["parent"] == turn["id"]
    assert tool["parent"] == first["id"]
    assert {first["id"], second["id"]} <= {model["parent"] for model in models}
    asked = next(model for model in models if model["parent"] == first["id"])
    assert (asked["kind"], asked["failed"]) == (CLIENT, False)
    assert asked["attributes"]["gen_ai.request.model"] == "offline"
    assert asked["attributes"]["gen_ai.response.finish_reasons"] == ["tool_calls"]
    assert asked["attributes"]["gen_ai.usage.output_tokens"] > 0


def test_log_lines_of_a_traced_turn_name_its_trace(
    client: Client, stack: Stack, collected: Collected
) -> None:
    turn_id = answered(client, {"tool_calls": [{"name": "test_fail", "arguments": {"how": "crash"}}]}, {})
    trace = trace_of(collected, "turn", turn_id)[0]["trace"]
    lines = [
        json.loads(line) for line in stack.log(newest_worker(stack), 400).splitlines() if line.startswith("{")
    ]
    of_turn = [line for line in lines if line.get("job_id") == turn_id]
    assert of_turn and {line["trace_id"] for line in of_turn} == {trace}


def test_an_operation_is_part_of_the_trace_and_the_turn_it_brings_about_is_linked(
    client: Client, collected: Collected
) -> None:
    call = {"name": "test_operation", "arguments": {"note": "x"}}
    session = client.new_session()
    turn = client.send(session, {"steps": [{"tool_calls": [call]}, {"text": "Started."}]})
    eventually(lambda: collected.trace_with("operation", tool="test_operation"), what="the operation")
    spans = trace_of(collected, "turn", turn["id"])
    operation = only(spans, "operation")
    assert operation["parent"] == only(spans, "step", step=0)["id"]

    def continued() -> list[Span]:
        own = [span for span in collected.spans() if span["name"] == "turn"]
        return [span for span in own if operation["id"] in span["links"]]

    later = eventually(continued, what="the turn with the result")
    assert later[0]["trace"] != operation["trace"]
    assert later[0]["trace"] == later[0]["attributes"]["ratchet.job_id"].replace("-", "")


def test_a_webhook_delivery_has_a_trace_of_its_own_linked_to_the_turn_it_tells_of(
    client: Client, collected: Collected, receiver: Receiver
) -> None:
    body = {"url": receiver.url, "events": ["turn.finished"]}
    endpoint = client._ok(client.http.post("/api/webhooks", json=body))
    try:
        turn_id = answered(client, {"text": "One."})
        spans = trace_of(collected, "turn", turn_id)
        trace = spans[0]["trace"]

        def told() -> list[Span]:
            deliveries = [span for span in collected.spans() if span["name"] == "webhookdelivery"]
            return [span for span in deliveries if span["linked_traces"] == [trace]]

        [delivery] = eventually(told, what="the span of the delivery")
    finally:
        client.http.delete(f"/api/webhooks/{endpoint['id']}")
    assert (delivery["kind"], delivery["failed"]) == (CONSUMER, False)
    assert delivery["parent"] == "" and delivery["trace"] != trace
    assert set(delivery["links"]) <= {span["id"] for span in spans}
    assert delivery["trace"] == delivery["attributes"]["ratchet.job_id"].replace("-", "")
    assert delivery["attributes"]["http.response.status_code"] == 200
    assert delivery["attributes"]["ratchet.end_reason"] == "delivered"
    assert receiver.host not in json.dumps(delivery), "whom it tells is nobody else's business"


def test_a_message_over_the_websocket_begins_the_trace_of_its_turn(
    client: Client, collected: Collected
) -> None:
    chat = client.new_session()
    message = {"id": str(uuid.uuid4()), "role": "user", "parts": [{"type": "text", "text": "Hello"}]}
    frame = {"type": "send", "id": chat, "trigger": "submit-message", "messages": [message], "requestId": "r"}
    ticket = client._ok(client.http.post("/api/ws-ticket"))["ticket"]
    with connect(f"{client.url.replace('http', 'ws')}/ws/chat/?ticket={ticket}") as socket:
        socket.send(json.dumps(frame))
        frames = [json.loads(socket.recv(timeout=60))]
        while frames[-1]["type"] != "end":
            frames.append(json.loads(socket.recv(timeout=60)))
    [start] = [frame["chunk"] for frame in frames if frame.get("chunk", {}).get("type") == "start"]
    spans = trace_of(collected, "turn", start["messageMetadata"]["turn_id"])
    sent = only(spans, "websocket send")
    assert (sent["parent"], sent["kind"]) == ("", SERVER)
    assert sent["attributes"]["network.protocol.name"] == "websocket"
    assert only(spans, "turn")["parent"] == sent["id"]


def test_an_execution_and_its_nodes_are_part_of_the_trace_of_the_request(
    client: Client, collected: Collected
) -> None:
    nodes = {"in": ("Agent Number Input", {"name": "n"}), "sum": ("Calculator", {"operation": "Add", "b": 1})}
    agent = client._ok(client.http.post("/api/agents", json=agent_json(nodes, ["in.result -> sum.a"])))
    body = {"inputs": {"n": 1}}
    started = client._ok(client.http.post(f"/api/agents/{agent['id']}/execute", json=body))
    spans = trace_of(collected, "execution", started["id"])
    execution = only(spans, "execution")
    request = next(span for span in spans if span["kind"] == SERVER)
    assert execution["parent"] == request["id"]
    blocks = {span["attributes"]["ratchet.block"]: span for span in spans if span["name"] == "node"}
    assert "Calculator" in " ".join(blocks)
    assert {span["parent"] for span in blocks.values()} == {execution["id"]}


def test_a_worker_killed_in_the_middle_leaves_both_attempts_in_one_trace(
    client: Client, stack: Stack, collected: Collected
) -> None:
    turn = client.send(
        client.new_session(),
        {"id": "k", "steps": [{"text": "One. ", "tool_calls": [CALL]}, {"chunks": 3, "gate": "killed"}]},
    )

    def first_step_is_told() -> bool:
        asked = [span for span in collected.spans() if span["name"] == "step"]
        return any(span["parent"] == lost_id for span in asked)

    lost_id = attempt_id(turn["id"], 1)
    eventually(first_step_is_told, what="the first step")
    old = newest_worker(stack)
    stack.kill(old)
    del stack.processes[old]
    stack.start_worker(number_of(old) + 1)
    stack.release("killed")
    assert client.wait(turn["id"])["end_reason"] == "done"
    spans = trace_of(collected, "turn", turn["id"], attempt=2)
    lost, second = only(spans, "turn", attempt=1), only(spans, "turn", attempt=2)
    request = next(span for span in spans if span["kind"] == SERVER)
    assert lost["parent"] == second["parent"] == request["id"]
    assert (lost["failed"], lost["attributes"]["error.type"]) == (True, "worker_lost")
    assert second["attributes"]["ratchet.cause"] == "worker_lost"
    assert second["links"] == [lost["id"]]
    steps = {(span["attributes"]["ratchet.step"], span["parent"]) for span in spans if span["name"] == "step"}
    assert steps == {(0, lost["id"]), (0, second["id"]), (1, second["id"])}  # it looks what is left of step 0
    assert only(spans, "execute_tool test_effect")["trace"] == lost["trace"]
    assert lost["resource"]["service.name"] == "ratchet"


def test_a_worker_that_is_stopped_sends_what_it_has_before_it_goes(
    client: Client, stack: Stack, collected: Collected
) -> None:
    turn = client.send(
        client.new_session(),
        {"id": "h", "steps": [{"text": "One. ", "gate": "stopped", "tool_calls": [CALL]}, {"text": "Two."}]},
    )
    eventually(lambda: client.turn(turn["id"])["status"] == "running", what="the turn")
    old = newest_worker(stack)
    stack.start_worker(number_of(old) + 1)
    stack.kill(old, signal.SIGTERM)
    eventually(lambda: "Warm shutdown" in stack.log(old), what="the end of the worker")
    stack.release("stopped")
    assert client.wait(turn["id"])["end_reason"] == "done"
    spans = trace_of(collected, "turn", turn["id"], attempt=2)
    first = only(spans, "turn", attempt=1)
    assert first["attributes"]["ratchet.handed_over"] and not first["failed"]
    assert only(spans, "turn", attempt=2)["attributes"]["ratchet.cause"] == "handed_over"
    assert stack.processes.pop(old).wait(120) is not None


def test_a_collector_that_is_away_holds_nobody_up_and_is_said_once(
    client: Client, stack: Stack, collected: Collected
) -> None:
    stack.kill("collector")
    del stack.processes["collector"]
    worker = newest_worker(stack)
    for _ in range(3):
        answered(client, {"text": "One."})
        eventually(lambda: complaints(stack, worker), what="a word about the collector")
    assert complaints(stack, worker) == 1
    assert "Traceback" not in stack.log(worker, 5_000)


def newest_worker(stack: Stack) -> str:
    return max((name for name in stack.processes if name.startswith("worker")), key=number_of)


def number_of(worker: str) -> int:
    return int(worker.removeprefix("worker"))


def complaints(stack: Stack, process: str) -> int:
    return stack.log(process, 5_000).count("The collector does not accept traces")


def attempt_id(job_id: str, number: int) -> str:
    return f"{span_id_of(uuid.UUID(job_id), number):016x}"


# --- without a collector --------------------------------------------------------------------------


def test_without_an_endpoint_the_web_tier_and_the_worker_load_nothing_of_it() -> None:
    look = (
        "import sys, django; django.setup(); import copilot_project.asgi, copilot_project.urls, durable.worker_signals;"
        "found = ('opentelemetry.sdk.trace', 'opentelemetry.exporter', 'google.protobuf');"
        "print([name for name in sys.modules if name.startswith(found)])"
    )
    result = subprocess.run(
        [sys.executable, "-c", look], cwd=ROOT, capture_output=True, text=True, timeout=500, check=True
    )
    assert result.stdout.strip() == "[]"


def test_nothing_is_kept_while_nobody_traces() -> None:
    assert tracing.span("x") is tracing.span("y", {"a": 1}) is tracing.NOTHING
    assert tracing.current() == tracing.current_trace_id() == ""


class Wire(SpanExporter):
    """Answers as it is told, and counts."""

    def __init__(self) -> None:
        self.is_up = False
        self.asked = 0

    def export(self, spans: Any) -> SpanExportResult:
        self.asked += 1
        return SpanExportResult.SUCCESS if self.is_up else SpanExportResult.FAILURE


def test_a_collector_that_is_away_is_asked_less_and_less(caplog: pytest.LogCaptureFixture) -> None:
    wire, now = Wire(), [0.0]
    exporter = PatientExporter(wire, clock=lambda: now[0])
    for second in range(600):
        now[0] = float(second)
        exporter.export([])
    assert wire.asked < 20
    wire.is_up = True
    now[0] += limits.TRACE_PAUSE_SECONDS
    assert exporter.export([]) is SpanExportResult.SUCCESS
    assert [record.getMessage().split(";")[0] for record in caplog.records] == [
        "The collector does not accept traces",
        "The collector accepts traces again",
    ]
