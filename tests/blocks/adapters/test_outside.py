"""The web, MCP servers, search and captions over real local HTTP servers; code in the real sandbox."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from blocks.adapters.live import GuardedWeb, KeyedRandom, LocalSandbox, SystemClock, live_ports, make_search
from blocks.adapters.search import CorpusSearch, EndpointSearch, NoSearch
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.examples import World
from blocks.ports import Credential, PortError
from blocks.registry import get_registry
from blocks.run import run_block
from boundary.http import Outside
from boundary.policy import AllowList, NetworkPolicy
from durable.stop_signal import StopSignal
from tests.blocks.doubles import make_context, make_ports
from tests.boundary.servers import LocalServer, Received, reply, serve

JSON_TYPE = [("content-type", "application/json")]


def run(name: str, inputs: dict[str, Any], context: BlockContext) -> list[tuple[str, Any]]:
    return list(run_block(get_registry().get_by_name(name), inputs, context))


def with_web(server: LocalServer, world: World | None = None) -> BlockContext:
    """A context whose way to the web may reach that server."""
    outside = Outside(policy=NetworkPolicy(allowed=AllowList.of([server.host])))
    return make_context(ports=replace(make_ports(world or World()), http=GuardedWeb(outside)))


def answer(handler: BaseHTTPRequestHandler, received: Received) -> None:
    """A small API."""
    path = urlsplit(received.path)
    if path.path == "/echo":
        body = {
            "method": received.method,
            "headers": received.headers,
            "body": received.body.decode("latin-1"),
        }
        reply(handler, json.dumps(body).encode(), headers=JSON_TYPE)
    elif path.path.startswith("/status/"):
        reply(handler, b"sorry", status=int(path.path.rsplit("/", 1)[1]))
    elif path.path == "/search":
        query = parse_qs(path.query)["q"][0]
        hits = [
            {"title": f"About {query}", "url": "https://example.com/1", "content": "A  hit."},
            {"no": "url"},
        ]
        reply(handler, json.dumps({"results": hits}).encode(), headers=JSON_TYPE)
    elif path.path == "/redirect":
        reply(handler, status=302, headers=[("location", "http://127.0.0.1:1/internal")])
    else:
        reply(handler, b"not here", status=404)


@pytest.fixture
def server() -> Iterator[LocalServer]:
    with serve(answer) as running:
        yield running


def test_a_request_goes_out_with_its_body_headers_and_key(server: LocalServer) -> None:
    inputs = {"url": server.url("/echo"), "body": {"n": 1}, "headers": {"X-Test": "yes"}}
    (pin, value), *_ = run("Send Web Request", inputs, with_web(server))
    assert pin == "response"
    assert (value["method"], json.loads(value["body"])) == ("POST", {"n": 1})
    assert value["headers"]["x-test"] == "yes"
    assert value["headers"]["idempotency-key"] == "node-execution-1"


def test_a_form_with_files_is_sent_as_multipart(server: LocalServer) -> None:
    inputs = {
        "url": server.url("/echo"),
        "json_format": False,
        "body": {"a": 5},
        "files": ["data:text/plain;base64,SGVsbG8=", "notes.txt"],
        "files_name": "upload",
    }
    context = with_web(server, World(files={"notes.txt": b"my notes"}))
    ((_, value),) = run("Send Web Request", inputs, context)
    assert value["headers"]["content-type"].startswith("multipart/form-data")
    for part in (
        'name="upload"; filename="file.txt"',
        "Hello",
        'filename="notes.txt"',
        "my notes",
        'name="a"\r\n\r\n5',
    ):
        assert part in value["body"]


@pytest.mark.parametrize(
    ("status", "pin"), [(200, "response"), (204, "response"), (404, "client_error"), (500, "server_error")]
)
def test_the_status_decides_the_pin(server: LocalServer, status: int, pin: str) -> None:
    ((emitted, _),) = run("Send Web Request", {"url": server.url(f"/status/{status}")}, with_web(server))
    assert emitted == pin


def test_a_redirect_to_a_private_address_is_refused(server: LocalServer) -> None:
    with pytest.raises(BlockFailed):
        run("Send Web Request", {"url": server.url("/redirect"), "method": "GET"}, with_web(server))


@pytest.mark.parametrize(
    ("name", "pin"),
    [
        ("Send Web Request", "url"),
        ("Send Authenticated Web Request", "url"),
        ("Extract Website Content", "url"),
        ("File Read", "file_input"),
        ("File Store", "file_in"),
        ("MCP Tool", "server_url"),
    ],
)
@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:6379/", "http://169.254.169.254/latest/meta-data/", "http://localhost/", "http://[::1]/",
     "http://0x7f000001/", "http://2130706433/", "http://10.0.0.1/", "http://user:pass@example.com/"],
)  # fmt: skip
def test_private_addresses_are_refused_by_every_block(name: str, pin: str, url: str) -> None:
    context = make_context(ports=replace(make_ports(), http=GuardedWeb(Outside(policy=NetworkPolicy()))))
    inputs = {pin: url} | ({"selected_tool": "x"} if name == "MCP Tool" else {})
    with pytest.raises(BlockFailed):
        run(name, inputs, context)


def test_a_feed_at_a_private_address_is_empty() -> None:
    context = make_context(ports=replace(make_ports(), http=GuardedWeb(Outside(policy=NetworkPolicy()))))
    inputs = {"rss_url": "http://127.0.0.1/feed", "polling_rate": 1, "run_continuously": False}
    assert run("Read RSS Feed", inputs, context) == [("entries", [])]


def test_kept_headers_go_only_to_their_host_and_explicit_ones_win(server: LocalServer) -> None:
    kept = Credential(
        id="c", provider="http:127.0.0.1", headers={"Authorization": "Bearer kept", "X-A": "kept"}
    )
    context = with_web(server, World(credentials=[kept]))
    inputs = {"url": server.url("/echo"), "headers": {"x-a": "mine"}}
    ((_, value),) = run("Send Authenticated Web Request", inputs, context)
    assert (value["headers"]["authorization"], value["headers"]["x-a"]) == ("Bearer kept", "mine")
    elsewhere = with_web(server, World(credentials=[replace(kept, provider="http:other.example.com")]))
    ((_, value),) = run("Send Authenticated Web Request", inputs, elsewhere)
    assert "authorization" not in value["headers"]


# --- MCP ----------------------------------------------------------------------------------------


def mcp_answer(handler: BaseHTTPRequestHandler, received: Received) -> None:
    """An MCP server with one tool; it answers in event streams and insists on its session."""
    message = json.loads(received.body)
    if message["method"] == "initialize":
        result: dict[str, Any] = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {}}
        headers = [("content-type", "application/json"), ("mcp-session-id", "session-7")]
        reply(
            handler,
            json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode(),
            headers=headers,
        )
    elif received.headers.get("mcp-session-id") != "session-7":
        reply(handler, status=400)
    elif message["method"].startswith("notifications/"):
        reply(handler, status=202)
    else:
        name, arguments = message["params"]["name"], message["params"]["arguments"]
        text = json.dumps(
            {"sum": arguments["a"] + arguments["b"], "token": received.headers.get("authorization")}
        )
        result = {"content": [{"type": "text", "text": text}], "isError": name != "add"}
        note = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {}}
        events = [note, {"jsonrpc": "2.0", "id": message["id"], "result": result}]
        stream = "".join(f"event: message\r\ndata: {json.dumps(event)}\r\n\r\n" for event in events)
        reply(handler, stream.encode(), headers=[("content-type", "text/event-stream")])


@pytest.fixture
def mcp_server() -> Iterator[LocalServer]:
    with serve(mcp_answer) as running:
        yield running


def test_a_tool_of_an_mcp_server_is_called(mcp_server: LocalServer) -> None:
    kept = Credential(id="c", provider="mcp", api_key="token-1")
    schema = {
        "type": "object",
        "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
        "required": ["a", "b"],
    }
    inputs = {
        "server_url": mcp_server.url("/mcp"),
        "selected_tool": "add",
        "tool_input_schema": schema,
        "a": "2",
        "b": 3,
    }
    outputs = run("MCP Tool", inputs, with_web(mcp_server, World(credentials=[kept])))
    assert outputs == [("result", {"sum": 5, "token": "Bearer token-1"})]
    methods = [json.loads(received.body)["method"] for received in mcp_server.received]
    assert methods == ["initialize", "notifications/initialized", "tools/call"]


def test_a_tool_that_reports_an_error_fails_the_block(mcp_server: LocalServer) -> None:
    inputs = {
        "server_url": mcp_server.url("/mcp"),
        "selected_tool": "divide",
        "tool_arguments": {"a": 1, "b": 2},
    }
    with pytest.raises(BlockFailed, match="The tool divide failed"):
        run("MCP Tool", inputs, with_web(mcp_server))


def test_a_server_that_is_no_mcp_server_is_told(server: LocalServer) -> None:
    for path, sentence in (
        ("/status/200", "did not return a valid response"),
        ("/status/503", "status 503"),
    ):
        with pytest.raises(BlockFailed, match=sentence):
            run("MCP Tool", {"server_url": server.url(path), "selected_tool": "x"}, with_web(server))


# --- search, captions ---------------------------------------------------------------------------


def web_to(server: LocalServer) -> GuardedWeb:
    return GuardedWeb(Outside(policy=NetworkPolicy(allowed=AllowList.of([server.host]))))


def test_a_search_endpoint_is_asked(server: LocalServer) -> None:
    hits = EndpointSearch(server.url("/search"), web_to(server)).search("cats & dogs")
    assert [(hit.title, hit.url, hit.snippet) for hit in hits] == [
        ("About cats & dogs", "https://example.com/1", "A hit.")
    ]
    template = EndpointSearch(server.url("/search?q={query}"), web_to(server))
    assert template.search("owls")[0].title == "About owls"


def test_a_search_endpoint_that_fails_is_told(server: LocalServer) -> None:
    with pytest.raises(PortError, match="returned status 500"):
        EndpointSearch(server.url("/status/500"), web_to(server)).search("cats")
    with pytest.raises(PortError, match="The search failed"):
        EndpointSearch("http://10.0.0.1/search", web_to(server)).search("cats")
    assert EndpointSearch(server.url("/status/200"), web_to(server)).search("cats") == []


def test_a_corpus_is_searched_with_typos_tolerated(tmp_path: Path) -> None:
    (tmp_path / "cats.md").write_text("# About cats\n\nCats purr when they are happy.")
    (tmp_path / "dogs.md").write_text("# About dogs\n\nDogs bark.")
    (tmp_path / "picture.png").write_bytes(b"purring cats")
    hits = CorpusSearch(tmp_path).search("purring catss")
    assert [hit.url for hit in hits] == []
    hits = CorpusSearch(tmp_path).search("happy catss")
    assert [(hit.title, hit.url) for hit in hits] == [("About cats", "cats.md")]
    assert CorpusSearch(tmp_path).search("") == []


def test_without_a_search_it_says_what_to_set(settings: Any) -> None:
    settings.SEARCH_URL = ""
    search = make_search(GuardedWeb())
    assert isinstance(search, NoSearch)
    with pytest.raises(PortError, match="SEARCH_URL"):
        search.search("cats")
    settings.SEARCH_URL = "https://search.example.com"
    assert isinstance(make_search(GuardedWeb()), EndpointSearch)


# --- code, clock, chance ------------------------------------------------------------------------


@pytest.fixture
def code_context(sandbox: None) -> BlockContext:
    return make_context(ports=replace(make_ports(), sandbox=LocalSandbox()))


def test_python_runs_in_the_sandbox_with_variables_result_output_and_files(
    code_context: BlockContext,
) -> None:
    code = "import pathlib\nprint('hello')\npathlib.Path('out').mkdir()\n"
    code += "pathlib.Path('out/a.txt').write_text('x' * n)\n[n, name]"
    outputs = dict(run("Execute Code", {"code": code, "variables": {"n": 3, "name": "é"}}, code_context))
    assert outputs["main_result"] == {"text": "[3, 'é']", "json": [3, "é"]}
    assert outputs["response"] == "[3, 'é']"
    assert outputs["stdout_logs"] == "hello\n"
    assert [(file["relative_path"], file["content"]) for file in outputs["files"]] == [("out/a.txt", "xxx")]
    assert "stderr_logs" not in outputs


def test_bash_runs_after_its_setup_commands(code_context: BlockContext) -> None:
    inputs = {"code": "cat made", "language": "bash", "setup_commands": ["echo 'it''s there' > made"]}
    assert dict(run("Execute Code", inputs, code_context))["stdout_logs"] == "its there\n"


@pytest.mark.parametrize(
    ("inputs", "sentence"),
    [
        ({"code": "print('lost')\n1/0"}, "ZeroDivisionError"),
        ({"code": "def broken("}, "SyntaxError"),
        ({"code": "while True: pass", "timeout": 1}, "longer than 1 seconds"),
        ({"code": "echo", "language": "bash", "setup_commands": ["false"]}, "exit code 1"),
        ({"code": "import socket; socket.create_connection(('1.1.1.1', 80), 2)"}, "Error"),
        ({"code": "open('/etc/passwd').read()"}, "FileNotFoundError"),
        ({"code": "x", "language": "r"}, "not installed"),
    ],
)
def test_code_that_fails_fails_the_block(
    code_context: BlockContext, inputs: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(BlockFailed, match=sentence):
        run("Execute Code", inputs, code_context)


def test_without_a_sandbox_nothing_runs(settings: Any) -> None:
    settings.SANDBOX = "off"
    context = make_context(ports=replace(make_ports(), sandbox=LocalSandbox()))
    with pytest.raises(BlockFailed, match="switched off"):
        run("Execute Code", {"code": "1"}, context)


def test_the_clock_is_woken_by_a_cancel_and_a_past_moment_is_no_wait() -> None:
    clock = SystemClock()
    clock.wait_until(clock.now() - timedelta(days=1), StopSignal())
    cancelled = StopSignal()
    cancelled.set()
    clock.wait_until(datetime.now(UTC) + timedelta(days=1), cancelled)


def test_the_same_key_throws_the_same_dice() -> None:
    dice = KeyedRandom()
    assert dice.generator("a").random() == dice.generator("a").random()
    assert dice.generator("a").random() != dice.generator("b").random()


def test_the_ports_of_a_real_run_are_complete(settings: Any) -> None:
    doubles = make_ports()
    ports = live_ports(
        files=doubles.files,
        store=doubles.store,
        credentials=doubles.credentials,
        reviews=doubles.reviews,
        agents=doubles.agents,
        turns=doubles.turns,
        tools=doubles.tools,
    )
    assert isinstance(ports.http, GuardedWeb)
    assert isinstance(ports.clock, SystemClock)
    assert all(port is not None for port in vars(ports).values())
