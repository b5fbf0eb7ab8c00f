"""Stock AI SDK clients, versions 6 and 7, over SSE and websocket: send, stream, tools, cut, resume, stop."""

from __future__ import annotations

import json
import subprocess
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness import Stack, as_text, eventually
from tests.needs import CLIENT_PACKAGES, CLIENTS, NODE, node_program, require

pytestmark = pytest.mark.node
KINDS = [("6", "sse"), ("7", "sse"), ("7", "ws")]


@pytest.fixture(scope="session")
def packages() -> Path:
    """The client libraries, installed once."""
    require(NODE, CLIENTS)
    return CLIENT_PACKAGES


class SdkChat:
    """One chat of a real client library in a Node process of its own."""

    def __init__(self, stack: Stack, version: str, kind: str, chat_id: str) -> None:
        self.process = subprocess.Popen(
            [node_program(), "client.mjs", version, kind, stack.url(), stack.keys["ann"], chat_id],
            cwd=CLIENT_PACKAGES,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def do(self, action: str, **more: Any) -> dict[str, Any]:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps({"do": action, **more}) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline() or "{}")
        assert answer.get("ok"), answer
        return answer


@pytest.fixture
def open_chat(stack: Stack, packages: Path) -> Iterator[Callable[..., SdkChat]]:
    chats: list[SdkChat] = []

    def opening(version: str, kind: str, chat_id: str) -> SdkChat:
        chats.append(SdkChat(stack, version, kind, chat_id))
        return chats[-1]

    yield opening
    for chat in chats:
        chat.process.kill()
        chat.process.wait(60)


@pytest.mark.parametrize(("version", "kind"), KINDS)
def test_send_stream_and_tool_parts(open_chat: Callable[..., SdkChat], version: str, kind: str) -> None:
    chat = open_chat(version, kind, str(uuid.uuid4()))
    calls = [
        {"name": "test_pure", "arguments": {"value": "seven"}},
        {"name": "no_such_tool", "arguments": {}},
    ]
    steps = [{"reasoning": "Hm.", "text": "Looking it up.", "tool_calls": calls}, {"text": " Here it is."}]
    chat.do("send", text=as_text({"id": f"sdk-{uuid.uuid4()}", "steps": steps}))
    state = chat.do("wait", **{"for": "ready"})
    assert state["text"] == "Looking it up. Here it is."
    assert state["assistants"] == 1 and not state["errors"]
    assert [tool["type"] for tool in state["tools"]] == ["tool-test_pure", "tool-no_such_tool"]
    assert state["tools"][0]["state"] == "output-available"
    assert state["tools"][0]["output"]["value"] == "seven"
    assert state["parts"].count("step-start") == 2


@pytest.mark.parametrize(("version", "kind"), KINDS)
def test_an_approval_is_asked_for_and_its_answer_lets_the_block_run(
    stack: Stack, open_chat: Callable[..., SdkChat], version: str, kind: str
) -> None:
    chat_id = str(uuid.uuid4())
    chat = open_chat(version, kind, chat_id)
    call = {"name": "run_block", "arguments": {"block_id": "Print To Console", "input_data": {"text": "hi"}}}
    steps = [{"tool_calls": [call]}, {"text": "May I?"}]
    chat.do("send", text=as_text({"id": f"sdk-{uuid.uuid4()}", "steps": steps}))
    state = chat.do("wait", **{"for": "ready"})
    [asked] = state["tools"]
    assert (asked["state"], asked["output"]["type"]) == ("approval-requested", "review_required")
    chat.do("approve", approved=True)
    state = chat.do("wait", **{"for": "ready"})
    assert not state["errors"], state
    client = stack.client()
    review = client.http.get(f"/api/reviews/{asked['output']['review_id']}").json()
    assert review["state"] == "approved"
    parts = [part for message in client.session(chat_id)["messages"] for part in message["parts"]]
    [ran] = [part for part in parts if part["type"] == "tool-continue_run_block"]
    assert ran["output"]["outputs"]["output"] == ["hi"], "the model went on, and the block ran once"


@pytest.mark.parametrize(("version", "kind"), KINDS)
def test_drop_mid_answer_and_resume_gives_the_text_once(
    open_chat: Callable[..., SdkChat], version: str, kind: str
) -> None:
    chat = open_chat(version, kind, str(uuid.uuid4()))
    chat.do("send", text=as_text({"id": f"sdk-{uuid.uuid4()}", "steps": [{"chunks": 80, "delay": 0.03}]}))
    chat.do("wait", **{"for": "text", "value": "5 "})
    chat.do("drop")
    chat.do("wait", **{"for": "ended"})
    chat.do("resume")
    state = chat.do("wait", **{"for": "ready"})
    assert state["text"].split() == [str(number) for number in range(80)]
    assert state["assistants"] == 1


@pytest.mark.parametrize(("version", "kind"), KINDS)
def test_resume_of_an_idle_session_answers_that_there_is_nothing(
    open_chat: Callable[..., SdkChat], version: str, kind: str
) -> None:
    chat = open_chat(version, kind, str(uuid.uuid4()))
    chat.do("send", text="hello")
    before = chat.do("wait", **{"for": "ready"})
    chat.do("resume")
    after = chat.do("wait", **{"for": "ended"})
    assert after["text"] == before["text"] and after["assistants"] == 1


def test_abort_over_the_websocket_cancels_the_turn(stack: Stack, open_chat: Callable[..., SdkChat]) -> None:
    session = stack.client().new_session()
    chat = open_chat("7", "ws", session)
    chat.do("send", text=as_text({"id": f"sdk-{uuid.uuid4()}", "steps": [{"chunks": 2000, "delay": 0.03}]}))
    chat.do("wait", **{"for": "some"})
    chat.do("stop")
    client = stack.client()
    eventually(lambda: client.session(session)["active_turn"] is None, what="the cancelled turn")
    assert client.answer(session)["metadata"]["status"] == "cancelled"


@pytest.mark.parametrize(("version", "kind"), KINDS)
def test_regenerate_replaces_the_answer(
    stack: Stack, open_chat: Callable[..., SdkChat], version: str, kind: str
) -> None:
    session = stack.client().new_session()
    chat = open_chat(version, kind, session)
    chat.do("send", text="hello")
    chat.do("wait", **{"for": "ready"})
    chat.do("regenerate")
    state = chat.do("wait", **{"for": "ready"})
    assert state["assistants"] == 1 and not state["errors"]
    assert len(stack.client().session(session)["messages"]) == 2
    first, second = stack.client().session(session)["messages"][1]["versions"]
    assert (first["shown"], second["shown"]) == (False, True)
    stack.client().show(first["turn_id"])
    answer = stack.client().session(session)["messages"][1]
    assert answer["id"] == first["message_id"]
    chat.do("send", text="go on")
    chat.do("wait", **{"for": "ready"})
    shown = stack.client().session(session)["messages"]
    assert [message["id"] for message in shown][1] == first["message_id"], "it went on from the chosen answer"
    assert len(shown) == 4
