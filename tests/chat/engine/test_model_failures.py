"""Requests to the model that failed are kept with the turn, without a secret and without a word of the person."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from chat.models import Turn
from copilot_project.ops.console.timeline import read_timeline

pytestmark = pytest.mark.django_db(transaction=True)
Send = Callable[..., Turn]
DROPPED = {"fault": {"drop": True, "times": None}}


def kinds(turn: Turn) -> list[tuple[int, int, str]]:
    return [(row["attempt"], row["step"], row["kind"]) for row in turn.model_failures]


def test_a_failed_try_is_kept_with_a_turn_that_was_answered_after_it(send: Send) -> None:
    turn = send({"id": "again", "steps": [{"text": "Here.", "fault": {"status": 503}}]})
    assert turn.end_reason == "done"
    assert kinds(turn) == [(1, 0, "unavailable")]
    told = [moment for moment in read_timeline(turn).entries if moment.is_bad]
    assert [moment.kind for moment in told] == ["model"]
    assert "offline was unavailable in step 0: HTTP 503" in told[0].text


def test_every_try_is_kept_with_a_turn_that_failed(send: Send) -> None:
    call = {"name": "find_block", "arguments": {"query": "mail"}}
    turn = send({"id": "gone", "steps": [{"tool_calls": [call]}, DROPPED]})
    assert turn.end_reason == "model_error"
    assert len(kinds(turn)) >= 3 and {step for _, step, _ in kinds(turn)} == {1}
    assert (
        len([moment for moment in read_timeline(turn).entries if moment.kind == "model" and moment.is_bad])
        >= 3
    )


def test_a_turn_that_waits_for_the_model_says_why(send: Send) -> None:
    turn = send({"id": "limited", "steps": [{"text": "later", "fault": {"status": 429, "retry_after": 120}}]})
    assert (turn.status, kinds(turn)) == ("waiting", [(1, 0, "rate_limited")])


class Gossip(BaseHTTPRequestHandler):
    """A server that repeats to everybody what it was told in confidence."""

    def do_POST(self) -> None:
        asked = self.rfile.read(int(self.headers["Content-Length"])).decode()
        said = f"{self.headers['Authorization']} may not ask for {asked[asked.index('elder') :][:12]}"
        body = json.dumps({"error": {"message": said}}).encode()
        self.send_response(500)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Not in the output of tests."""


@pytest.fixture
def gossip(settings: Settings, send: Send) -> Iterator[Send]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Gossip) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        settings.OPENAI_BASE_URL = f"http://127.0.0.1:{server.server_address[1]}/v1"
        settings.OPENAI_API_KEY = "secret-key-0123456789"
        yield send
        server.shutdown()


def test_neither_the_key_nor_the_persons_words_are_kept(gossip: Send) -> None:
    turn = gossip("Tell me about elderberries")
    assert turn.end_reason == "model_error"
    kept = str(turn.model_failures)
    assert "HTTP 500" in kept and "may not ask for" in kept
    assert "secret-key" not in kept and "elderberries" not in kept


def test_an_answer_without_a_failure_takes_no_statement_more(send: Send) -> None:
    def statements(script: dict[str, Any]) -> int:
        with CaptureQueriesContext(connection) as said:
            assert send(script).end_reason == "done"
        return len(said)

    send({"steps": [{"text": "warm"}]})
    well = statements({"steps": [{"text": "a"}]})
    failed = statements({"id": "b", "steps": [{"text": "b", "fault": {"status": 503}}]})
    assert well == failed
