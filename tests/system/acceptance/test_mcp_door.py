"""MCP clients use the copilot, agents and files at /mcp; the official Python client checks every message."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio.to_thread
import httpx
import httpx2
import pytest
from mcp import Client as McpClient
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata
from mcp_types import ElicitResult
from pydantic import AnyUrl

from tests.harness import Stack, as_text, eventually
from tests.mcp_client import TASKS, RawClient, official
from tests.system.acceptance.test_around_executions import ASK, INPUT, OUTPUT, link, node

MODES = ("auto", "legacy")


def connect(stack: Stack, *, web: int = 0, person: str = "ann", **capabilities: Any) -> RawClient:
    return RawClient(stack.url(web), stack.client(person).key, capabilities)


def script(*steps: dict[str, Any]) -> str:
    return as_text({"id": f"mcp-{uuid.uuid4().hex[:8]}", "steps": list(steps)})


def make_agent(stack: Stack, name: str, nodes: list[Any], links: list[Any], description: str = "") -> str:
    body = {"name": name, "description": description, "nodes": nodes, "links": links}
    made = stack.client().http.post("/api/agents", json=body)
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


def make_echo(stack: Stack, name: str) -> str:
    nodes = [node("in", INPUT, name="text"), node("out", OUTPUT, name="said")]
    make_agent(stack, name, nodes, [link("in", "result", "out", "value")], "Says it again.")
    return f"agent__{name.lower().replace(' ', '-')}"


def make_asker(stack: Stack, name: str) -> str:
    nodes = [
        node("in", INPUT, name="draft"),
        node("ask", ASK, name="The letter"),
        node("out", OUTPUT, name="letter"),
    ]
    links = [link("in", "result", "ask", "data"), link("ask", "approved_data", "out", "value")]
    make_agent(stack, name, nodes, links)
    return f"agent__{name.lower().replace(' ', '-')}"


# --- official clients -----------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
async def test_official_client_lists_and_calls_in_both_eras(stack: Stack, mode: str) -> None:
    echo = make_echo(stack, f"Echo {mode}")
    async with official(stack.url(), stack.client().key, mode=mode) as client:
        assert client.protocol_version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
        assert client.server_info is not None and client.server_info.name == "ratchet"
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert {"ask_copilot", "get_execution", "find_library_agent", "read_workspace_file", echo} <= set(
            tools
        )
        assert tools[echo].input_schema["required"] == ["text"]
        hints = tools["read_workspace_file"].annotations
        assert hints is not None and hints.read_only_hint and not hints.destructive_hint
        said = await client.call_tool(echo, {"text": "Ping"})
        assert not said.is_error and said.content[0].text == "Ping"
        assert said.structured_content["outputs"] == {"said": "Ping"}
        same = await client.call_tool(
            "get_execution", {"execution_id": said.structured_content["execution_id"]}
        )
        assert same.structured_content["status"] == "COMPLETED"
        answer = await client.call_tool("ask_copilot", {"message": script({"text": "Forty-two."})})
        assert answer.content[0].text == "Forty-two."
        session = answer.structured_content["session_id"]
    assert stack.client().session(session)["id"] == session


@pytest.mark.parametrize("mode", MODES)
async def test_official_client_writes_lists_and_reads_files(stack: Stack, mode: str) -> None:
    name = f"notes/{uuid.uuid4().hex}.txt"
    async with official(stack.url(), stack.client().key, mode=mode) as client:
        made = await client.call_tool("write_workspace_file", {"filename": name, "content": "Grüße"})
        assert not made.is_error, made
        again = await client.call_tool("write_workspace_file", {"filename": name, "content": "Grüße"})
        assert again.structured_content["file"] == made.structured_content["file"]
        reference = made.structured_content["file"]["reference"]
        read = await client.read_resource(reference)
        assert read.contents[0].text == "Grüße"
        templates = (await client.list_resource_templates()).resource_templates
        assert "workspace://path/{+path}" in [template.uri_template for template in templates]
        by_path = await client.read_resource(f"workspace://path/{name}")
        assert by_path.contents[0].text == "Grüße"
        found, cursor = [], None
        while True:
            page = await client.list_resources(cursor=cursor)
            found += [str(resource.uri) for resource in page.resources]
            cursor = page.next_cursor
            if cursor is None:
                break
        assert reference in found
        taken = await client.call_tool("write_workspace_file", {"filename": name, "content": "Other"})
        assert taken.is_error


@pytest.mark.parametrize("mode", MODES)
async def test_review_is_asked_of_the_client_and_its_answer_counts(stack: Stack, mode: str) -> None:
    asker = make_asker(stack, f"Asker {mode}")
    asked: list[str] = []

    async def decide(context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"approved": True, "message": "Fine."})

    key = stack.client().key
    async with official(stack.url(), key, mode=mode, elicitation_callback=decide) as client:
        said = await client.call_tool(asker, {"draft": "Dear all"})
    assert said.structured_content["status"] == "COMPLETED", said
    assert said.structured_content["outputs"]["letter"] == "Dear all"
    assert len(asked) == 1 and asked[0].startswith("The letter")


# --- refusals -------------------------------------------------------------------------------------


def test_without_a_valid_key_the_answer_says_where_to_sign_in(stack: Stack) -> None:
    refused = RawClient(stack.url(), "rk_wrong").post("tools/list")
    assert refused.status_code == 401
    assert "/.well-known/oauth-protected-resource/mcp" in refused.headers["www-authenticate"]
    with httpx.Client(base_url=stack.url(), cookies={"sessionid": "anything"}) as http:
        assert http.post("/mcp", json={}).status_code == 401


def test_pages_of_other_sites_and_other_names_of_the_host_are_refused(stack: Stack) -> None:
    client = connect(stack)
    assert client.post("tools/list", Origin="https://evil.example").status_code == 403
    assert client.post("tools/list", Origin="null").status_code == 403
    assert client.post("tools/list", Host="evil.example").status_code in (400, 403)
    assert client.post("tools/list", Origin=stack.url()).status_code == 200


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", -32700),
        (b"{", -32700),
        (b"\xff\xfe", -32700),
        (b"[]", -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\\u0000"}}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + b"[" * 500 + b"]" * 500 + b"}", -32600),
    ],
)
def test_bad_bodies_are_refused_with_a_json_rpc_error(stack: Stack, body: bytes, code: int) -> None:
    headers = {"Content-Type": "application/json"}
    refused = connect(stack).http.post("/mcp", content=body, headers=headers)
    assert refused.json()["error"]["code"] == code, refused.text
    assert refused.json()["error"]["message"]


def test_headers_that_differ_from_the_body_are_refused(stack: Stack) -> None:
    client = connect(stack)
    wrong = client.error("tools/list", {}, **{"Mcp-Method": "tools/call"})
    assert (wrong["status"], wrong["code"]) == (400, -32020)
    wrong = client.error("tools/call", {"name": "ask_copilot"}, **{"Mcp-Name": "get_execution"})
    assert (wrong["status"], wrong["code"]) == (400, -32020)
    unknown = client.error("tools/call", {"name": "nothing"})
    assert (unknown["status"], unknown["code"]) == (400, -32602)
    assert client.error("no/method")["status"] == 404
    assert client.error("initialize")["code"] == -32601
    assert client.error("tasks/get", {"taskId": "execution-1"})["code"] == -32021


def test_bad_arguments_are_results_that_a_model_can_read(stack: Stack) -> None:
    client, echo = connect(stack), make_echo(stack, "Echo strictly")
    refused = client.call(echo, {"words": "x"})
    assert refused["isError"] and "words" in refused["content"][0]["text"]
    assert client.call("ask_copilot", {"message": 1})["isError"]
    assert client.call("ask_copilot", {"message": "x", "session": "a/b"})["isError"]
    assert client.error("tools/call", {"name": "ask_copilot", "arguments": []})["code"] == -32602
    assert client.call("read_workspace_file", {"path": "a", "file_id": "b"})["isError"]
    assert client.call("get_execution", {"execution_id": "nonsense"})["isError"]


def test_rows_of_others_do_not_exist(stack: Stack) -> None:
    echo = make_echo(stack, "Echo privately")
    mine = connect(stack, extensions={TASKS: {}})
    task = mine.call(echo, {"text": "secret"})["taskId"]
    foreign = connect(stack, person="bob", extensions={TASKS: {}})
    for method in ("tasks/get", "tasks/cancel", "tasks/update"):
        assert foreign.error(method, {"taskId": task, "inputResponses": {}})["code"] == -32602
    execution = str(uuid.UUID(hex=task.removeprefix("execution-")))
    assert foreign.call("get_execution", {"execution_id": execution})["isError"]
    assert foreign.error("resources/read", {"uri": f"execution://{execution}/outputs"})["code"] == -32602
    assert foreign.error("tools/call", {"name": echo})["code"] == -32602


def test_key_with_limits_sees_and_calls_only_what_it_may(stack: Stack) -> None:
    echo, other = make_echo(stack, "Echo allowed"), make_echo(stack, "Echo denied")
    body = {"name": "narrow", "allowed_tools": [echo, "get_execution"]}
    key = stack.client().http.post("/api/keys", json=body).json()["key"]
    client = RawClient(stack.url(), key)
    assert {tool["name"] for tool in client.ask("tools/list")["tools"]} == {echo, "get_execution"}
    assert client.call(echo, {"text": "x"})["structuredContent"]["outputs"] == {"said": "x"}
    for name in (other, "ask_copilot", "list_workspace_files"):
        assert client.error("tools/call", {"name": name})["code"] == -32602
    assert client.error("resources/read", {"uri": "workspace://path/a.txt"})["code"] == -32602
    elsewhere = connect(stack).call(echo, {"text": "y"})["structuredContent"]["execution_id"]
    assert client.call("get_execution", {"execution_id": elsewhere})["isError"]


# --- repeated calls -------------------------------------------------------------------------------


def test_repeated_call_joins_the_one_that_runs_and_a_later_one_is_new(stack: Stack) -> None:
    asker = make_asker(stack, "Asker repeated")
    clients = [connect(stack, web=web) for web in (0, 1, 0, 1)]
    with ThreadPoolExecutor(4) as threads:
        ends = list(threads.map(lambda client: client.call(asker, {"draft": "One"}), clients))
    ids = {end["structuredContent"]["execution_id"] for end in ends}
    assert len(ids) == 1
    assert {end["structuredContent"]["status"] for end in ends} == {"REVIEW"}
    [review] = [
        found
        for found in stack.client().http.get("/api/reviews").json()["results"]
        if found["execution_id"] in ids
    ]
    stack.client().http.post(
        f"/api/reviews/{review['id']}/decide", json={"approved": True}
    ).raise_for_status()
    joined = clients[0].call(asker, {"draft": "One"})["structuredContent"]
    assert (joined["execution_id"], joined["status"]) == (ids.pop(), "COMPLETED")
    later = clients[0].call(asker, {"draft": "One"})["structuredContent"]
    assert later["execution_id"] != joined["execution_id"]


def test_stream_that_broke_is_joined_by_the_repeated_call(stack: Stack) -> None:
    text = script({"text": "Slowly.", "gate": f"mcp-{uuid.uuid4().hex[:6]}"})
    client = connect(stack)
    params = client.framed(
        {"name": "ask_copilot", "arguments": {"message": text}, "_meta": {"progressToken": "p"}}
    )
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    with client.http.stream(
        "POST", "/mcp", json=body, headers=client.headers("tools/call", params)
    ) as broken:
        next(broken.iter_bytes())
    again = connect(stack, web=1)
    with ThreadPoolExecutor(1) as threads:
        answer = threads.submit(again.call, "ask_copilot", {"message": text})
        stack.release(text.partition('"gate": "')[2].partition('"')[0])
        found = answer.result(60)["structuredContent"]
    assert found["answer"] == "Slowly."
    turns = stack.sql(
        "SELECT count(*) FROM chat_turn WHERE session_id = ?", uuid.UUID(found["session_id"]).hex
    )
    assert turns == [(1,)]


def test_chosen_key_makes_calls_the_same_or_different(stack: Stack) -> None:
    client, echo = connect(stack), make_echo(stack, "Echo by key")

    def run(key: str) -> str:
        end = client.call(echo, {"text": "x"}, _meta={"ratchet/idempotencyKey": key})
        return str(end["structuredContent"]["execution_id"])

    assert run("a") == run("a") != run("b")


def test_progress_is_reported_to_those_who_ask_for_it(stack: Stack) -> None:
    client, echo = connect(stack), make_echo(stack, "Echo watched")
    client.call(echo, {"text": "x"}, _meta={"progressToken": 7})
    told = [note["params"] for note in client.notifications]
    assert told and all(note["progressToken"] == 7 for note in told)
    amounts = [note["progress"] for note in told]
    assert amounts == sorted(set(amounts))


# --- tasks ----------------------------------------------------------------------------------------


def test_task_is_fetched_answered_and_its_result_is_the_calls(stack: Stack) -> None:
    client, asker = connect(stack, extensions={TASKS: {}}), make_asker(stack, "Asker as task")
    handle = client.call(asker, {"draft": "Dear all"})
    assert (handle["resultType"], handle["status"]) == ("task", "working")
    other = connect(stack, web=1, extensions={TASKS: {}})

    def task() -> dict[str, Any]:
        return other.ask("tasks/get", {"taskId": handle["taskId"]})

    waiting = eventually(
        lambda: (found := task())["status"] == "input_required" and found, what="the question"
    )
    [(key, request)] = waiting["inputRequests"].items()
    assert request["method"] == "elicitation/create"
    assert request["params"]["message"].startswith("The letter")
    answers = {key: {"action": "accept", "content": {"approved": True, "data": "Dear both"}}, "other": {}}
    assert client.ask("tasks/update", {"taskId": handle["taskId"], "inputResponses": answers}) == {
        "resultType": "complete",
        "_meta": waiting["_meta"],
    }
    done = eventually(lambda: (found := task())["status"] == "completed" and found, what="the end")
    assert done["result"]["structuredContent"]["status"] == "COMPLETED"
    client.ask("tasks/update", {"taskId": handle["taskId"], "inputResponses": answers})
    client.ask("tasks/cancel", {"taskId": handle["taskId"]})
    assert task()["status"] == "completed"


def test_review_that_somebody_decides_elsewhere_reaches_the_task(stack: Stack) -> None:
    client, asker = connect(stack, extensions={TASKS: {}}), make_asker(stack, "Asker elsewhere")
    handle = client.call(asker, {"draft": "Dear all"})["taskId"]

    def task() -> dict[str, Any]:
        return client.ask("tasks/get", {"taskId": handle})

    eventually(lambda: task()["status"] == "input_required", what="the question")
    execution = str(uuid.UUID(hex=handle.removeprefix("execution-")))
    http = stack.client().http
    [review] = [
        found for found in http.get("/api/reviews").json()["results"] if found["execution_id"] == execution
    ]
    http.post(f"/api/reviews/{review['id']}/decide", json={"approved": False}).raise_for_status()
    eventually(lambda: task()["status"] == "completed", what="the end")


def test_cancelled_task_stops_its_turn(stack: Stack) -> None:
    client = connect(stack, extensions={TASKS: {}})
    text = script({"text": "Never.", "gate": f"mcp-{uuid.uuid4().hex[:6]}"})
    handle = client.call("ask_copilot", {"message": text})["taskId"]
    client.ask("tasks/cancel", {"taskId": handle})
    eventually(lambda: client.ask("tasks/get", {"taskId": handle})["status"] == "cancelled", what="the stop")


# --- sign-in ----------------------------------------------------------------------------------------


class KeptTokens:
    """Where the official client keeps what it got."""

    def __init__(self) -> None:
        self.tokens: Any = None
        self.client: Any = None

    async def get_tokens(self) -> Any:
        return self.tokens

    async def set_tokens(self, tokens: Any) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> Any:
        return self.client

    async def set_client_info(self, client: Any) -> None:
        self.client = client


async def test_official_client_signs_a_person_in_and_is_disconnected(stack: Stack) -> None:
    kept, answers = KeptTokens(), []

    async def open_browser(address: str) -> None:
        answers.append(await anyio.to_thread.run_sync(allow, stack, address))

    async def wait_for_answer() -> AuthorizationCodeResult:
        said = {name: values[0] for name, values in parse_qs(urlsplit(answers[-1]).query).items()}
        return AuthorizationCodeResult(code=said["code"], state=said["state"], iss=said["iss"])

    metadata = OAuthClientMetadata(
        client_name="Official client",
        redirect_uris=[AnyUrl("http://127.0.0.1:7777/back")],
        token_endpoint_auth_method="none",
    )
    sign_in = OAuthClientProvider(
        f"{stack.url()}/mcp", metadata, kept, redirect_handler=open_browser, callback_handler=wait_for_answer
    )
    async with httpx2.AsyncClient(auth=sign_in, timeout=60) as http:
        transport = streamable_http_client(f"{stack.url()}/mcp", http_client=http)
        async with McpClient(transport, mode="auto") as client:
            assert "ask_copilot" in [tool.name for tool in (await client.list_tools()).tools]
            said = await client.call_tool("ask_copilot", {"message": script({"text": "Signed in."})})
    assert said.structured_content["answer"] == "Signed in."
    assert len(answers) == 1 and kept.tokens.refresh_token
    http_of_ann = stack.client().http
    [grant] = http_of_ann.get("/api/grants").json()["results"]
    assert grant["name"] == "Official client"
    http_of_ann.delete(f"/api/grants/{grant['id']}").raise_for_status()
    assert RawClient(stack.url(), kept.tokens.access_token).post("tools/list").status_code == 401


def allow(stack: Stack, address: str) -> str:
    """Log in as a browser would, and allow what the page asks for; return where it sends the browser."""
    with httpx.Client(base_url=stack.url(), headers={"Referer": stack.url()}) as browser:
        browser.get("/login/")
        form = {"username": "ann", "password": "a good password"}
        token = {"csrfmiddlewaretoken": browser.cookies["csrftoken"]}
        assert browser.post("/login/", data=form | token).status_code == 302
        assert "Official client" in browser.get(address).text
        token = {"csrfmiddlewaretoken": browser.cookies["csrftoken"]}
        return str(browser.post(address, data={"answer": "allow"} | token).headers["location"])
