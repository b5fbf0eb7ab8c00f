"""The beginning of each request is that of the one before it, so that providers' prompt caches hold it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from decimal import Decimal
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

import llm
from chat import turns
from chat.models import Message, Session, Turn
from llm.catalog import ModelInfo
from tests.chat.engine.conftest import run_turn
from tests.llm.dialect_servers import PROTOCOLS, ModelServer, Script, running
from tests.llm.test_dialects import MODEL, use
from tools import registry
from tools.models import Understanding

pytestmark = pytest.mark.django_db(transaction=True)
Send = Callable[..., Turn]
Body = dict[str, Any]


@pytest.fixture(params=list(PROTOCOLS))
def server(request: pytest.FixtureRequest, settings: Settings, redis_server: object) -> Iterator[ModelServer]:
    registry.prepare()  # as a worker does: a tool that needs the sandbox is offered once that was tested
    with running(PROTOCOLS[request.param]()) as model:
        use(settings, model)
        model.choose = lambda body: None if body.get("tools") else Script(text=("A title.",))
        yield model


@pytest.fixture
def send(session: Session, server: ModelServer) -> Send:
    """Send a message that the model answers with two steps of tool calls and a text, `later` days after the first."""

    def sending(text: str, *, later: int = 0) -> Turn:
        name = f"t{server.answers}"
        server.scripts += [
            Script(
                thoughts=("hm",),
                redacted=True,
                calls=((f"{name}a", "find_tool", ("{}",)), (f"{name}b", "find_tool", ("{}",))),
            ),
            Script(text=("Wait.",), calls=((f"{name}c", "find_tool", ('{"x": 1}',)),)),
            Script(thoughts=("so",), text=(f"Done {name}.",), usage={"fresh": 7, "cached": 90, "written": 3}),
        ]
        turn = turns.submit(session, turns.Input(text=text)).turn
        if later:
            sent = session.created_at + timedelta(days=later)
            Message.objects.filter(turn=turn).update(created_at=sent)
        run_turn(turn)
        assert (turn.end_reason, server.refusals) == ("done", [])
        return turn

    server.scripts = []
    return sending


def asked(server: ModelServer) -> list[Body]:
    return [request.body for request in server.asked if request.body.get("tools")]


def in_order(body: Body) -> str:
    """The request in the order in which providers read and cache it, without the marks of the cache."""
    parts = [*body["tools"], body.get("instructions") or body.get("system") or ""]
    for message in body.get("messages") or body["input"]:
        content = message.get("content")
        head = {name: value for name, value in message.items() if name != "content"}
        parts += [head, *(content if isinstance(content, list) else [content])]
    return json.dumps(parts).replace(', "cache_control": {"type": "ephemeral"}', "")


def prefixes(bodies: list[Body]) -> list[int]:
    """How many characters each request has in common with the one before it."""
    return [common(one, other) for one, other in pairwise(map(in_order, bodies))]


def common(one: str, other: str) -> int:
    same = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return sum(1 for _ in same)


def test_the_common_prefix_only_grows_through_turns_days_and_new_facts(
    server: ModelServer, session: Session, send: Send
) -> None:
    send("first")
    send("second")
    assert session.user_id is not None
    Understanding.add(session.user_id, {"name": "Ann"})
    send("third, with a fact")
    Understanding.add(session.user_id, {"industry": "bees"})
    send("fourth, with another", later=1)
    send("fifth", later=2)
    bodies = asked(server)
    assert len(bodies) == 15
    shared = prefixes(bodies)
    assert shared == sorted(shared)
    shares = [same / len(in_order(body)) for same, body in zip(shared, bodies[1:], strict=True)]
    assert min(shares) > 0.9, shares
    for before, same in zip(bodies, shared, strict=False):
        assert same >= len(in_order(stable(before))) - len('"]')


def stable(body: Body) -> Body:
    """The request without the facts, which come last."""
    field = "messages" if "messages" in body else "input"
    kept = [message for message in body[field] if "Facts about" not in json.dumps(message)]
    facts = [message for message in body[field] if "Facts about" in json.dumps(message)]
    for message in facts:  # one dialect has them in the same message as what the person wrote
        content = [part for part in message["content"] if "Facts about" not in json.dumps(part)]
        if isinstance(message["content"], list) and content:
            kept.append(message | {"content": content})
    assert all(message is body[field][-1] for message in facts)
    return body | {field: kept}


def test_the_model_is_told_the_day_of_what_was_sent_later(
    server: ModelServer, send: Send, session: Session
) -> None:
    send("first")
    send("next day", later=1)
    later = f"{session.created_at + timedelta(days=1):%A, %d %B %Y} (UTC)"
    first, second = json.dumps(asked(server)[0]), json.dumps(asked(server)[-1])
    assert "This conversation began on" in first and "Sent on" not in first
    assert second.count(f"[Sent on {later}]") == 1


def test_after_a_summary_the_prefix_grows_again(
    server: ModelServer, session: Session, send: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    send("first " + "and more " * 800)
    window = ModelInfo(context_tokens=12_000, sees_images=False)
    monkeypatch.setattr(llm, "model_info", lambda name: window)
    send("second " + "and more " * 800)
    send("third " + "and more " * 3000)
    session.refresh_from_db()
    assert session.summary
    begins = len(asked(server))
    send("fourth")
    send("fifth")
    shared = prefixes(asked(server)[begins - 1 :])
    assert shared == sorted(shared)


def test_what_was_read_from_the_cache_is_kept_with_the_turn_and_priced(
    server: ModelServer, send: Send, settings: Settings, tmp_path: Path
) -> None:
    prices = tmp_path / "prices.json"
    row = {"input": 100, "output": 0, "cached": 10, "cache_write": 125}
    prices.write_text(json.dumps({MODEL[server.protocol.name]: row}))
    settings.COPILOT_PRICES_FILE = str(prices)
    turn = send("hello")
    assert (turn.cached_tokens, turn.input_tokens) == (90, 10 + 10 + 100)
    assert turn.cost == Decimal(27 * 100 + 90 * 10 + 3 * 125) / 1_000_000


def test_marks_of_the_cache_stand_on_tools_system_and_the_last_turns(server: ModelServer, send: Send) -> None:
    if server.protocol.name != "anthropic":
        pytest.skip("these providers cache by themselves")
    send("first")
    send("second")
    for body in asked(server):
        assert [place for place, tool in enumerate(body["tools"]) if "cache_control" in tool] == [
            len(body["tools"]) - 1
        ]
        assert "cache_control" in body["system"][-1]
        marked = [
            place for place, message in enumerate(body["messages"]) if "cache_control" in json.dumps(message)
        ]
        sent = [place for place, message in enumerate(body["messages"]) if message["role"] == "user"]
        assert marked == sent[-2:]
