"""Log lines carry ids and no secrets, for people and as JSON; Sentry hears what went wrong and nothing else."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import sentry_sdk
from django.db import OperationalError
from sentry_sdk.transport import Transport

from copilot_project.ops import sentry
from copilot_project.ops.log_format import Ids, JsonLines, PlainLines
from copilot_project.web.request_id import request_id
from durable.tracing import working_on
from llm.errors import ModelUnavailable
from tests.harness import ROOT

CANARY = "canary-7f3a9c"


def record(message: str = "model failed", **extra: Any) -> logging.LogRecord:
    made = logging.getLogger("chat.engine").makeRecord(
        "chat.engine", logging.WARNING, __file__, 1, message, (), None, extra=extra
    )
    assert Ids().filter(made)
    return made


@pytest.fixture
def in_a_turn() -> Iterator[None]:
    token = request_id.set("req-12345678")
    with working_on({"job": "turn", "job_id": "t1", "attempt": 2, "session_id": "s1"}):
        yield
    request_id.reset(token)


def test_a_json_line_has_every_id(in_a_turn: None) -> None:
    line = json.loads(JsonLines().format(record()))
    assert (line["level"], line["logger"], line["message"]) == ("WARNING", "chat.engine", "model failed")
    ids = {name: line[name] for name in ("request_id", "job", "job_id", "attempt", "session_id")}
    assert ids == {
        "request_id": "req-12345678",
        "job": "turn",
        "job_id": "t1",
        "attempt": 2,
        "session_id": "s1",
    }


def test_a_plain_line_is_one_line_with_its_fields_at_the_end(in_a_turn: None) -> None:
    line = PlainLines().format(record(tool="web_fetch"))
    assert "\n" not in line
    assert line.endswith("job=turn job_id=t1 attempt=2 session_id=s1 tool=web_fetch")
    assert "[req-12345678]" in line


@pytest.mark.parametrize("lines", [JsonLines(), PlainLines()], ids=["json", "plain"])
def test_secrets_are_blotted_out_of_fields(lines: logging.Formatter) -> None:
    text = lines.format(record(api_key=CANARY, headers={"Authorization": CANARY}))
    assert CANARY not in text and "REDACTED" in text


def test_a_traceback_is_part_of_the_object_and_not_a_line_of_its_own() -> None:
    try:
        raise OperationalError("the server is gone")
    except OperationalError:
        made = record()
        made.exc_info = sys.exc_info()
    line = JsonLines().format(made)
    assert "\n" not in line
    assert "the server is gone" in json.loads(line)["traceback"]


def test_the_text_of_an_error_nobody_foresaw_is_withheld_and_its_place_is_not() -> None:
    try:
        try:
            dict[str, str]()[CANARY]
        except KeyError as error:
            raise ModelUnavailable("The model is away.") from error
    except ModelUnavailable as error:
        made = record()
        made.exc_info = (type(error), error, error.__traceback__)
    text = json.loads(JsonLines().format(made))["traceback"]
    assert CANARY not in text
    assert "KeyError: (text withheld)" in text and "The model is away." in text
    assert text.count("test_log_format.py") == 2
    assert CANARY in PlainLines().format(made)  # for who develops


def test_outside_of_a_job_there_are_no_ids() -> None:
    assert "job_id" not in json.loads(JsonLines().format(record()))


class Wire(Transport):
    """Keeps what would have been sent."""

    sent: list[str] = []

    def capture_envelope(self, envelope: Any) -> None:
        Wire.sent.append(envelope.serialize().decode())


@pytest.fixture
def wire() -> Iterator[type[Wire]]:
    Wire.sent = []
    yield Wire
    sentry_sdk.get_client().close()
    sentry_sdk.get_global_scope().set_client(None)


def test_sentry_hears_of_an_error_without_what_was_secret(wire: type[Wire], in_a_turn: None) -> None:
    assert sentry.start("https://key@sentry.invalid/1", environment="test", transport=wire)
    secret = CANARY
    try:
        raise RuntimeError(f"failed with {secret}")
    except RuntimeError:
        sentry_sdk.set_context("call", {"api_key": secret})
        logging.getLogger("chat.engine").exception("turn failed: %s", secret, extra={"text": secret})
    text = "".join(wire.sent)
    assert '"RuntimeError"' in text and "turn failed" in text and '"job_id":"t1"' in text
    assert "test_log_format.py" in text
    assert CANARY not in text


def test_what_is_started_is_told_nothing_of_sentry() -> None:
    """Its library would add ids to the environment of every process, and the sandbox lets no such thing in."""
    code = """
import subprocess
from copilot_project.ops import sentry
assert sentry.start("https://key@sentry.invalid/1", environment="test")
print(subprocess.run(["/usr/bin/env"], env={"A": "1"}, capture_output=True, text=True).stdout, end="")
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "A=1\n"


def test_what_a_request_carried_stays_here() -> None:
    request = {
        "url": f"https://x/api/chat?token={CANARY}", "method": "POST", "data": CANARY, "cookies": CANARY,
        "headers": {"Cookie": CANARY},
    }  # fmt: skip
    event = sentry.scrubbed({"request": request, "extra": {"text": CANARY}, "breadcrumbs": [CANARY]}, {})
    assert CANARY not in json.dumps(event)
    assert event["request"] == {"url": "https://x/api/chat", "method": "POST"}


def test_without_a_dsn_nothing_is_sent() -> None:
    assert not sentry.start("", environment="test")
