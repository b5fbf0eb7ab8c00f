"""A message goes in by HTTP, a worker answers it, everybody sees it live: nothing is simulated."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.harness import Reader, Stack, eventually


def read_until(stream: Iterator[tuple[str, dict[str, Any]]], words: str) -> None:
    """Read a turn's events until its text has these words."""
    text = ""
    while words not in text:
        _, chunk = next(stream)
        text += chunk["delta"] if chunk["type"] == "text-delta" else ""


def test_message_is_answered_and_stream_and_database_agree(stack: Stack) -> None:
    client = stack.client()
    session = client.new_session()
    turn = client.send(session, {"steps": [{"text": "Hello from the other side.", "delay": 0.01}]})
    reader = Reader(client, turn["id"]).read_to_end()
    assert reader.text == "Hello from the other side."
    assert client.wait(turn["id"])["end_reason"] == "done"
    assert client.answer(session)["content"] == reader.text
    assert reader.kinds.count("start") == reader.kinds.count("finish") == 1


def test_twenty_parallel_sends_with_one_client_id_are_one_turn(stack: Stack) -> None:
    client = stack.client()
    session = client.new_session()
    key = str(uuid.uuid4())
    with ThreadPoolExecutor(20) as pool:
        sent = list(pool.map(lambda _: client.send(session, "hello", client_id=key), range(20)))
    assert len({turn["id"] for turn in sent}) == 1
    client.wait(sent[0]["id"])
    assert len(client.session(session)["messages"]) == 2


def test_cut_at_every_event_and_rejoined_is_equal_to_the_uncut_run(stack: Stack) -> None:
    client = stack.client()
    session = client.new_session()
    call = {"name": "test_pure", "arguments": {"value": "x"}}
    steps = [{"chunks": 60, "delay": 0.012, "tool_calls": [call]}, {"chunks": 100, "delay": 0.012}]
    turn = client.send(session, {"steps": steps})
    client.wait(turn["id"])
    whole = list(client.events(turn["id"]))
    assert len(whole) > 100
    for place, (at, _) in enumerate(whole[:-1]):
        if place % 7 and place > 20:
            continue
        assert list(client.events(turn["id"], at)) == whole[place + 1 :]


def test_cancel_from_another_web_process_closes_the_model_request(stack: Stack) -> None:
    client, other = stack.client(web=0), stack.client(web=1)
    session = client.new_session()
    turn = client.send(session, {"id": "cancel-me", "steps": [{"chunks": 1000, "delay": 0.05}]})
    eventually(lambda: client.turn(turn["id"])["status"] == "running", what="the running turn")
    stream = client.events(turn["id"])
    read_until(stream, "0 1 ")
    answer = other.http.post(f"/api/turns/{turn['id']}/cancel").json()
    assert answer["cancelled"] is True
    ended = client.turn(turn["id"])
    assert (ended["status"], ended["end_reason"]) == ("cancelled", "cancelled")
    rest = [chunk["type"] for _, chunk in stream]
    assert rest[-2:] == ["abort", "finish"]
    mine = [request for request in stack.model_requests() if "cancel-me" in str(request)]
    assert len(mine) == 1
    eventually(lambda: any(r.get("closed_early") for r in stack.model_requests() if "cancel-me" in str(r)))
    assert client.answer(session)["content"].startswith("0 1 ")
    again = client.send(session, {"steps": [{"text": "next"}]})
    assert client.wait(again["id"])["end_reason"] == "done"
    assert other.http.post(f"/api/turns/{turn['id']}/cancel").json()["cancelled"] is True
    assert other.http.post(f"/api/sessions/{session}/cancel").json() == {
        "cancelled": False,
        "reason": "no_active_turn",
    }


def test_user_over_the_running_limit_does_not_hold_up_another(stack: Stack) -> None:
    ann, bob = stack.client("ann"), stack.client("bob")
    held = []
    for number in range(8):
        script = {"id": f"held-{number}", "steps": [{"text": "x", "gate": f"fair-{number}"}]}
        held.append(ann.send(ann.new_session(), script)["id"])

    def having(status: str) -> list[int]:
        return [number for number, turn in enumerate(held) if ann.turn(turn)["status"] == status]

    eventually(lambda: len(having("running")) == 5)
    quick = bob.send(bob.new_session(), {"steps": [{"text": "quick"}]})
    assert bob.wait(quick["id"])["end_reason"] == "done"
    waiting = having("queued")
    assert len(waiting) == 3
    for promoted in waiting:  # each place that becomes free goes to who waits longest
        first, *others = having("running")
        stack.release(f"fair-{first}")
        expected = [*others, promoted]
        eventually(lambda: having("running") == expected)  # noqa: B023 - it is called at once
    for number in having("running"):
        stack.release(f"fair-{number}")
    assert all(ann.wait(turn)["end_reason"] == "done" for turn in held)


def test_steer_joins_the_running_turn_and_queue_runs_after_it(stack: Stack) -> None:
    client = stack.client()
    session = client.new_session()
    call = {"name": "test_pure", "arguments": {"value": "x"}}
    first = client.send(
        session,
        {"id": "steered", "steps": [{"tool_calls": [call], "gate": "steer"}, {"text": "after steering"}]},
    )
    eventually(lambda: client.turn(first["id"])["status"] == "running")
    queued = client.send(session, {"steps": [{"text": "second"}]})
    steer = client.send(session, "be brief please", while_running="steer")
    stack.release("steer")
    assert client.wait(first["id"])["end_reason"] == "done"
    assert client.wait(steer["id"])["end_reason"] == "steered"
    assert client.wait(queued["id"])["end_reason"] == "done"
    last = [r for r in stack.model_requests() if "be brief please" in str(r)]
    assert last, "the model never saw the steering message"


def test_interrupt_keeps_the_partial_text_and_runs_next(stack: Stack) -> None:
    client = stack.client()
    session = client.new_session()
    first = client.send(session, {"steps": [{"chunks": 1000, "delay": 0.05}]})
    read_until(client.events(first["id"]), "0 1 ")
    second = client.send(session, {"steps": [{"text": "instead"}]}, while_running="interrupt")
    assert client.wait(first["id"])["status"] == "cancelled"
    assert client.wait(second["id"])["end_reason"] == "done"
    contents = [message["content"] for message in client.session(session)["messages"]]
    assert contents[1].startswith("0 1") and contents[3] == "instead"


def test_reject_while_running_answers_409(stack: Stack) -> None:
    client = stack.client()
    session = client.new_session()
    first = client.send(session, {"steps": [{"text": "x", "gate": "reject"}]})
    answer = client.http.post(
        f"/api/sessions/{session}/turns", json={"message": "no", "while_running": "reject"}
    )
    assert answer.status_code == 409
    stack.release("reject")
    client.wait(first["id"])
