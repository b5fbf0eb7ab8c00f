"""MCP servers and model servers that send what no database takes: every execution ends visibly, once, and is stored."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler

import pytest
from django.test import Client
from pytest_django import Settings

from accounts.models import LedgerEntry, User
from executions.models import Execution
from tests.boundary.servers import LocalServer, Received, reply, serve
from tests.executions.conftest import work_on

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis_server")]
Make = Callable[..., Execution]

TOWER = "[" * 10_000 + "]" * 10_000
VALUES = {  # as they stand in JSON
    "nul": r'"a\u0000b"',
    "half": r'"a\ud800b"',
    "both": r'"\udc00\u0000\ud83d"',
    "huge integer": "1" + "0" * 5_000,
    "large integer": str(2**64),
    "infinity": "Infinity",
    "nan": "NaN",
    "overflow": "1e999",
    "tower": TOWER,
    "bare nul": '"a\x00b"',
}
POISON = pytest.mark.parametrize("poison", VALUES.values(), ids=VALUES.keys())
JSON_TYPE = ("content-type", "application/json")


class Script:
    """What the server says to a tool call, and how often it was asked for one."""

    body = ""
    status = 200
    headers: tuple[tuple[str, str], ...] = (JSON_TYPE,)
    calls = 0

    def answer(self, handler: BaseHTTPRequestHandler, received: Received) -> None:
        method = json.loads(received.body)["method"]
        if method == "initialize":
            reply(handler, b'{"jsonrpc": "2.0", "id": 1, "result": {}}', headers=[JSON_TYPE])
        elif method == "tools/call":
            self.calls += 1
            reply(handler, self.body.encode(), status=self.status, headers=self.headers)
        else:
            reply(handler, status=202)


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def mcp(script: Script, settings: Settings) -> Iterator[LocalServer]:
    with serve(script.answer) as server:
        settings.BOUNDARY_ALLOWED_HOSTS = [server.host]
        yield server


@pytest.fixture
def run(mcp: LocalServer, execution_of: Make) -> Callable[[], Execution]:
    """Run an agent that calls one tool of the server, and look at it as its owner does."""

    def run() -> Execution:
        nodes = {
            "mcp": ("MCP Tool", {"server_url": mcp.url("/mcp"), "selected_tool": "poison"}),
            "out": ("Agent Output", {"name": "y"}),
        }
        done = work_on(execution_of(nodes, ["mcp.result -> out.value"]))
        assert done.status in ("COMPLETED", "FAILED") and done.ended_at is not None
        assert work_on(done).attempt == done.attempt == 1
        assert done.status == "COMPLETED" or done.error
        see(done)
        return done

    return run


def see(execution: Execution) -> str:
    client = Client()
    client.force_login(execution.user)
    answer = client.get(f"/api/executions/{execution.pk}")
    assert answer.status_code == 200
    return answer.content.decode()


def result(inner: str) -> str:
    return f'{{"jsonrpc": "2.0", "id": 2, "result": {inner}}}'


@POISON
@pytest.mark.parametrize(
    "form",
    [
        '{"structuredContent": {"deep": [%s]}}',
        '{"content": [{"type": "image", "data": %s}]}',
        '{"content": [{"type": "text", "text": %s}]}',
        '{"content": [{"type": "text", "text": "x"}, {"type": %s}]}',
        '{"isError": true, "content": [{"type": "text", "text": %s}]}',
        '{"isError": %s, "content": []}',
        '{"content": %s}',
        "%s",
    ],
    ids=["structured", "image", "text", "kind", "failed", "flag", "content", "result"],
)
def test_a_result(run: Callable[[], Execution], script: Script, form: str, poison: str) -> None:
    script.body = result(form % poison)
    run()
    assert script.calls == 1


@pytest.mark.parametrize("poison", [json.loads(VALUES[name]) for name in ("nul", "half", "both")])
def test_keys_and_json_in_text(run: Callable[[], Execution], script: Script, poison: str) -> None:
    inner = json.dumps({poison: {poison: poison}})
    script.body = result(json.dumps({"content": [{"type": "text", "text": inner}]}))
    done = run()
    assert done.status == "COMPLETED"
    assert "\ufffd" in json.dumps(done.outputs, ensure_ascii=False)


@POISON
@pytest.mark.parametrize(
    "form", ['{"message": %s, "code": %s}', '{"message": "no", "data": %s%.0s}', "%s%.0s"]
)
def test_a_refusal(run: Callable[[], Execution], script: Script, form: str, poison: str) -> None:
    script.body = f'{{"jsonrpc": "2.0", "id": 2, "error": {form % (poison, poison)}}}'
    assert run().status == "FAILED"


@POISON
def test_an_id(run: Callable[[], Execution], script: Script, poison: str) -> None:
    script.body = f'{{"jsonrpc": {poison}, "id": {poison}, "result": {{}}}}'
    assert run().status == "FAILED"


@POISON
@pytest.mark.parametrize("status", [400, 500])
def test_an_error_body(run: Callable[[], Execution], script: Script, status: int, poison: str) -> None:
    script.body, script.status = poison, status
    assert run().status == "FAILED"


@pytest.mark.parametrize("header", ["\xe9\xff", "x" * 60_000, "a b\tc"])
def test_a_session_id(run: Callable[[], Execution], script: Script, header: str) -> None:
    script.body, script.headers = result('{"content": []}'), (JSON_TYPE, ("mcp-session-id", header))
    run()


# --- the model of an AI block -------------------------------------------------------------------

USAGES = [
    '{"prompt_tokens": 1e30, "completion_tokens": -5, "cost": NaN}',
    f'{{"prompt_tokens": {VALUES["huge integer"]}, "completion_tokens": {2**64}, "cost": 1e999}}',
    '{"prompt_tokens": "many", "completion_tokens": [], "cost": {}}',
    '{"prompt_tokens": true, "completion_tokens": null, "cost": -1}',
    TOWER,
    "5",
]


@pytest.mark.parametrize("usage", USAGES, ids=range(len(USAGES)))
@pytest.mark.parametrize("said", ["nul", "half", "both"])
def test_an_answer_of_the_model_and_absurd_usage(
    execution_of: Make, user: User, settings: Settings, usage: str, said: str
) -> None:
    chunks = [
        f'{{"choices": [{{"index": 0, "delta": {{"content": {VALUES[said]}}}}}]}}',
        '{"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}',
        f'{{"choices": [], "usage": {usage}}}',
        "[DONE]",
    ]
    body = "".join(f"data: {chunk}\n\n" for chunk in chunks).encode()
    stream = [("content-type", "text/event-stream")]
    with serve(lambda handler, received: reply(handler, body, headers=stream)) as server:
        settings.OPENAI_BASE_URL, settings.COPILOT_MODEL = server.url("/v1"), "a-model"
        nodes = {"ai": ("AI Text Generator", {"prompt": "Go."}), "out": ("Agent Output", {"name": "y"})}
        done = work_on(execution_of(nodes, ["ai.response -> out.value"]))
    assert done.status == "COMPLETED", done.error
    assert "\ufffd" in str(done.outputs["y"]) and "\ufffd" in see(done)
    charged = LedgerEntry.objects.filter(job_id=done.pk)
    assert all(0 <= entry.amount < 1_000 for entry in charged)
    assert len(server.received) == 1
