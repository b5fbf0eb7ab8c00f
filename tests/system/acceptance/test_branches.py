"""Branches of a conversation, whatever is killed meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.harness import Stack, as_text, eventually


def contents(stack: Stack, session: str) -> list[str]:
    return [message["content"] for message in stack.client().session(session)["messages"]]


def regenerate(stack: Stack, session: str) -> str:
    """Ask for the last answer again and return the new turn, without reading its stream to the end."""
    client = stack.client()
    body = {"id": session, "trigger": "regenerate-message", "messages": []}
    with client.http.stream("POST", "/api/chat", json=body) as response:
        assert response.status_code == 200

    def fresh() -> Any:
        now = client.session(session)
        return now["active_turn"] or (now["queued_turns"] or [None])[0] or answered(now)

    def answered(now: dict[str, Any]) -> Any:
        versions = now["messages"][-1].get("versions")
        return {"id": versions[-1]["turn_id"]} if versions else None

    found: str = eventually(fresh, what="the new turn")["id"]
    return found


def test_an_answer_again_whose_worker_dies_is_finished_beside_the_first(
    new_stack: Callable[..., Stack],
) -> None:
    stack = new_stack(workers=1)
    client = stack.client()
    session = client.new_session()
    script = {"id": "branches", "steps": [{"text": "the answer", "chunks": 40, "delay": 0.05}]}
    first = client.send(session, as_text(script))["id"]
    client.wait(first)
    before = contents(stack, session)
    again = regenerate(stack, session)
    stack.kill("worker0")
    stack.start_worker(0)
    assert client.wait(again)["status"] == "completed"
    versions = client.session(session)["messages"][-1]["versions"]
    assert [version["turn_id"] for version in versions] == [first, again]
    client.show(first)
    assert contents(stack, session) == before
    stack.kill("web0")
    stack.start_web(0)
    eventually(lambda: stack._answers("/healthz"), what="the web process")
    assert contents(stack, session) == before, "what was chosen is committed"
    fork = client.http.post(
        f"/api/sessions/{session}/fork",
        json={"message_id": client.session(session)["messages"][-1]["id"]},
    ).json()
    asked = len(stack.model_requests())
    assert contents(stack, fork["id"]) == before
    assert len(stack.model_requests()) == asked, "a fork asks the model nothing"
