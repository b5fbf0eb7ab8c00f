"""A model server that sends what no database takes: every turn ends visibly, and its answer is kept."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest
from pytest_django import Settings

from accounts.models import LedgerEntry
from chat import replay
from chat.models import Turn
from tools.models import calls_of

pytestmark = pytest.mark.django_db(transaction=True)
Send = Callable[..., Turn]

NUL, HALF, BOTH = "a\x00b", "a\ud800b", "\udc00\x00\ud83d"
TEXTS = pytest.mark.parametrize("poison", [NUL, HALF, BOTH], ids=["nul", "half", "both"])
TOWER = "[" * 10_000 + "]" * 10_000


class ScriptedModel(BaseHTTPRequestHandler):
    """Sends the next bytes of the script, whatever they are; after the last, a plain answer."""

    script: ClassVar[list[tuple[int, str, bytes]]] = []

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        status, kind, body = self.script.pop(0) if self.script else (200, STREAM, answer("Last words."))
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Not in the output of tests."""


STREAM, JSON = "text/event-stream", "application/json"


def events(*chunks: str | dict[str, Any]) -> bytes:
    """Chunks as an event stream; a text is sent as it is, for what Python's JSON would not write."""
    texts = [chunk if isinstance(chunk, str) else json.dumps(chunk) for chunk in chunks]
    return "".join(f"data: {text}\n\n" for text in [*texts, "[DONE]"]).encode()


def delta(**said: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": said}]}


def finish(reason: str = "stop") -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}


def answer(text: str, *more: str | dict[str, Any]) -> bytes:
    return events(delta(content=text), finish(), *more)


def call(name: str = "find_block", arguments: str = '{"query": "mail"}', call_id: str = "c1") -> bytes:
    function = {"name": name, "arguments": arguments}
    piece = {"index": 0, "id": call_id, "type": "function", "function": function}
    return events(delta(content="Calling."), delta(tool_calls=[piece]), finish("tool_calls"))


@pytest.fixture
def scripted(settings: Settings, send: Send) -> Iterator[Callable[..., Turn]]:
    """Run a turn against a server that answers with the given bytes, one after the other."""
    with ThreadingHTTPServer(("127.0.0.1", 0), ScriptedModel) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        settings.OPENAI_BASE_URL = f"http://127.0.0.1:{server.server_address[1]}/v1"

        def sending(*bodies: bytes | tuple[int, str, bytes]) -> Turn:
            ScriptedModel.script = [
                (200, STREAM, body) if isinstance(body, bytes) else body for body in bodies
            ]
            return send("Go.")

        yield sending
        server.shutdown()


def shown(turn: Turn) -> str:
    """Everything a reader of the ended turn is sent, as it would go over the wire."""
    text = "\n".join(replay.snapshot(turn.pk).chunks)
    assert '"finish"' in text
    text.encode()
    return text


@TEXTS
def test_text_and_reasoning(scripted: Send, poison: str) -> None:
    turn = scripted(events(delta(reasoning_content=poison), delta(content=f"x{poison}y"), finish()))
    assert turn.end_reason == "done"
    assert "x" in shown(turn)


@TEXTS
@pytest.mark.parametrize("place", ["name", "arguments", "call_id"])
def test_a_tool_call(scripted: Send, poison: str, place: str) -> None:
    turn = scripted(call(**{place: poison}))
    assert turn.end_reason == "done", turn.error
    assert "Last words." in shown(turn)
    assert all(row.is_finished for row in calls_of(turn.pk))


@TEXTS
def test_arguments_that_hold_it_escaped(scripted: Send, poison: str) -> None:
    turn = scripted(call(arguments=json.dumps({"query": poison, poison: {"deep": [poison]}})))
    assert turn.end_reason == "done", turn.error
    shown(turn)


@TEXTS
def test_a_refusal(scripted: Send, poison: str) -> None:
    turn = scripted(events(delta(refusal=f"no {poison}"), finish()))
    assert (turn.status, turn.end_reason) == ("failed", "model_refused")
    assert "no " in turn.error
    shown(turn)


@TEXTS
@pytest.mark.parametrize("status", [400, 429, 500])
def test_an_error_body(scripted: Send, poison: str, status: int) -> None:
    body = json.dumps({"error": {"message": f"bad {poison}", "code": poison}}).encode()
    turn = scripted((status, JSON, body))
    assert turn.end_reason == ("model_error" if status == 400 else "done"), turn.error
    assert "bad" in str(turn.model_failures)
    shown(turn)


@pytest.mark.parametrize("raw", [f"bad {NUL}".encode(), b"\xff\xfe\x00\x01", TOWER.encode()])
def test_an_error_body_that_is_no_json(scripted: Send, raw: bytes) -> None:
    assert scripted((500, JSON, raw)).end_reason == "done"


@TEXTS
def test_an_error_inside_the_stream(scripted: Send, poison: str) -> None:
    turn = scripted(events(delta(content="begun"), {"error": {"message": f"bad {poison}", "code": poison}}))
    assert turn.end_reason == "done", turn.error
    assert "Last words." in shown(turn)


@TEXTS
def test_a_finish_reason_and_a_model_name(scripted: Send, poison: str) -> None:
    chunk = {"model": poison, "id": poison, "system_fingerprint": poison}
    turn = scripted(events(delta(content="Kept.") | chunk, finish(poison) | chunk))
    assert turn.end_reason == "done"
    assert "Kept." in shown(turn)


NUMBERS = ["1e30", "-5", '"abc"', "NaN", "Infinity", "-Infinity", "2147483648", "9" * 400, "9" * 5_000, "1.5", "true",
           "[]", "{}", "null", '"\\u0000"']  # fmt: skip


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number[:12])
def test_usage_out_of_range_costs_no_answer(scripted: Send, number: str) -> None:
    names = ("prompt_tokens", "completion_tokens", "cost")
    counts = ", ".join(f'"{name}": {number}' for name in names)
    details = f'"prompt_tokens_details": {{"cached_tokens": {number}}}'
    turn = scripted(answer("Kept.", f'{{"choices": [], "usage": {{{counts}, {details}}}}}'))
    assert turn.end_reason == "done", (turn.error, turn.model_failures)
    assert turn.model_failures == []
    assert "Kept." in shown(turn)
    assert 0 <= turn.input_tokens < 1_000_000 and 0 <= turn.output_tokens < 1_000_000 and 0 <= turn.cost < 1
    assert LedgerEntry.objects.filter(job_id=turn.pk, kind=LedgerEntry.Kind.MODEL).count() == 1


@pytest.mark.parametrize(
    "usage", ['"abc"', "[1]", "5", '{"prompt_tokens_details": "x"}', "[" * 90 + "]" * 90]
)
def test_usage_of_no_known_shape_costs_no_answer(scripted: Send, usage: str) -> None:
    turn = scripted(answer("Kept.", f'{{"choices": [], "usage": {usage}, "x_groq": "odd"}}'))
    assert (turn.end_reason, turn.model_failures) == ("done", [])
    assert "Kept." in shown(turn)


@pytest.mark.parametrize(
    "arguments", [TOWER, '{"query": ' + TOWER + "}", '{"query": 1e999}', '{"query": NaN}']
)
def test_arguments_without_a_json_form(scripted: Send, arguments: str) -> None:
    turn = scripted(call(arguments=arguments))
    assert turn.end_reason == "done", turn.error
    assert "Last words." in shown(turn)


@pytest.mark.parametrize("size", [10_000_000])
def test_ten_megabytes_of_arguments(scripted: Send, size: int) -> None:
    turn = scripted(call(arguments=json.dumps({"query": "x" * size})))
    assert turn.end_reason == "done", turn.error
    turn = scripted(call(arguments=json.dumps({"x" * size: 1})))
    assert turn.end_reason == "done", turn.error


def test_a_name_and_an_id_of_a_megabyte(scripted: Send) -> None:
    turn = scripted(call(name="n" * 1_000_000, call_id="i" * 1_000_000))
    assert turn.end_reason == "done", turn.error


def test_a_tower_of_brackets_is_no_chunk(scripted: Send) -> None:
    turn = scripted(events(TOWER))
    assert turn.end_reason == "done", turn.error
    assert [row["kind"] for row in turn.model_failures] == ["nonsense"]


@pytest.mark.parametrize("header", ["1e400", "nan", "-5", "9" * 400, "1" + "0" * 12])
def test_a_retry_after_without_sense(scripted: Send, header: str) -> None:
    turn = scripted(events({"error": {"message": "slow down", "code": "429", "retry_after": header}}))
    assert turn.status in ("completed", "waiting")
