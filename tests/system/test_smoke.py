"""The smoke of the system that every run of the tests has: one stack of real processes, each promise once.

An answer; a worker killed and taken over; a cut and exact resume; an operation that an outside service completes;
an agent that runs; a page in a browser where there is one. The long forms are in the folders beside this file.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.executions.engine.graphs import agent_json
from tests.harness import Client, Reader, Stack, eventually, running_stack
from tests.needs import BROWSER, INTERFACE, browser_program, require

KEY = "the key of an outside service"
CHUNKS = 60
COUNTED = "".join(f"{number} " for number in range(CHUNKS))


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    if BROWSER.is_met():
        INTERFACE.is_met()  # builds it where that is possible; a web process serves what was there when it started
    home = Path(tempfile.mkdtemp(prefix="rs-"))  # a unix socket has little room for its path
    with running_stack(home / "s", workers=1, env={"INTERNAL_API_KEY": KEY}) as running:
        yield running
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def client(stack: Stack) -> Client:
    return stack.client()


def test_a_message_is_answered_and_a_cut_stream_goes_on_exactly_where_it_was(client: Client) -> None:
    session = client.new_session()
    call = {"name": "test_pure", "arguments": {"value": "x"}}
    steps = [{"text": "Looking. ", "tool_calls": [call]}, {"text": "Found."}]
    turn = client.send(session, {"steps": steps})
    assert client.wait(turn["id"])["end_reason"] == "done"
    assert client.answer(session)["content"] == "Looking. Found."

    whole = list(client.events(turn["id"]))
    assert [chunk["type"] for _, chunk in whole].count("finish") == 1
    for place, (at, _) in enumerate(whole[:-1]):
        assert list(client.events(turn["id"], at)) == whole[place + 1 :]


def test_a_killed_worker_is_taken_over_and_its_turn_is_answered_once(stack: Stack, client: Client) -> None:
    session = client.new_session()
    turn = client.send(session, {"id": "killed", "steps": [{"chunks": CHUNKS, "delay": 0.02, "gate": "go"}]})
    eventually(lambda: client.turn(turn["id"])["status"] == "running", what="the running turn")
    stack.kill("worker0")
    stack.release("go")
    stack.start_worker(0)
    ended = client.wait(turn["id"])
    assert (ended["end_reason"], ended["attempt"]) == ("done", 2)
    assert Reader(client, turn["id"]).read_to_end().text == client.answer(session)["content"] == COUNTED


def test_an_operation_is_completed_by_an_outside_service_and_comes_back(stack: Stack, client: Client) -> None:
    session = client.new_session()
    call = {"name": "test_operation", "arguments": {"accepted": True}}
    steps = [{"tool_calls": [call]}, {"text": "It goes on by itself."}, {"text": "It came back."}]
    turn = client.send(session, {"id": "operation", "steps": steps})
    assert client.wait(turn["id"])["end_reason"] == "done"
    parts = [part for message in client.session(session)["messages"] for part in message["parts"]]
    [started] = [part["output"] for part in parts if part["type"] == "tool-test_operation"]
    url = f"/api/operations/{started['operation_id']}"
    eventually(lambda: client.http.get(url).json()["status"] == "waiting", what="a waiting operation")

    said = {"success": True, "result": {"number": 7}}
    answers = [
        httpx.post(f"{stack.url()}{url}/complete", json=said, headers={"X-API-Key": key}, timeout=60)
        for key in ("a wrong key", KEY, KEY)
    ]
    assert [answer.status_code for answer in answers] == [401, 200, 200]
    eventually(lambda: client.answer(session)["content"] == "It came back.", what="the answer to its end")
    assert client.http.get(url).json()["result"] == {"number": 7}


def test_an_agent_runs(client: Client) -> None:
    nodes = {
        "in": ("Agent Number Input", {"name": "start"}),
        "add": ("Calculator", {"operation": "Add", "b": 1}),
        "out": ("Agent Output", {"name": "sum"}),
    }
    document = agent_json(nodes, ["in.result -> add.a", "add.result -> out.value"])
    agent = client._ok(client.http.post("/api/agents", json=document))
    begun = client._ok(client.http.post(f"/api/agents/{agent['id']}/execute", json={"inputs": {"start": 41}}))
    ended = client._ok(client.http.get(f"/api/executions/{begun['id']}?wait=60", timeout=90))
    assert (ended["status"], ended["outputs"]) == ("COMPLETED", {"sum": [42]})


def test_a_page_in_a_browser_answers(stack: Stack) -> None:
    """On a thread of its own: the browser's event loop and pytest's do not get along."""
    require(BROWSER, INTERFACE)
    with ThreadPoolExecutor(1) as apart:
        apart.submit(talk_in_a_browser, stack.url()).result(240)


def talk_in_a_browser(url: str) -> None:
    from playwright.sync_api import expect, sync_playwright

    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=browser_program(), args=arguments)
        page = browser.new_page(locale="en-US", reduced_motion="reduce")
        page.set_default_timeout(60_000)
        expect.set_options(timeout=60_000)
        page.goto(f"{url}/login/")
        page.fill("[name=username]", "ann")
        page.fill("[name=password]", "a good password")
        page.keyboard.press("Enter")
        page.fill("textarea", "Show me a markdown table")
        page.keyboard.press("Enter")
        expect(page.locator("article table")).to_be_visible()
        expect(page).to_have_url(re.compile(r"/c/[0-9a-f-]{36}$"))
        browser.close()
