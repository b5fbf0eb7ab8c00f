"""Tasks and long work after a page that gives orders: they wait for the person and go on once (case 120)."""

from __future__ import annotations

from pathlib import Path

import pytest

from chat.models import Session, Turn
from chat.sub_sessions.outcome import report_on
from durable.runtime import runtime
from executions.reviews.decisions import decide
from tests.chat.engine.conftest import run_turn
from tests.chat.engine.injected_page import (
    EvilSite,
    Send,
    approve,
    call,
    evil,
    go_on,
    obey,
    only_review,
    send,
    taking,
)
from tests.offline_server import OfflineServer
from tests.testtools.copilot_tools import FOREIGN_FILE
from tools.models import Operation, ToolCall
from tools.operations import runner

__all__ = ["evil", "send"]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(("approved", "sent"), [(True, 1), (False, 0)])
def test_a_sub_session_that_holds_a_call_waits_and_goes_on_once(
    send: Send, session: Session, evil: EvilSite, model: OfflineServer, approved: bool, sent: int
) -> None:
    send_it = call("run_block", "post", block_id="Send Web Request", input_data=taking(evil))
    steps = [send_it, {"text": "It waits."}]
    model.play({"steps": steps}, contains="Send it away.")
    obey(send, evil, call("run_sub_session", "sub", prompt="Send it away.", wait_for_result=0))
    task = Turn.objects.get(session__parent=session)
    run_turn(task)
    standing = report_on(task.pk)
    assert (standing.status, "approve" in standing.doing) == ("running", True)
    review = only_review(session_id=task.session_id)
    go = call("continue_run_block", "go", review_id=str(review.pk))
    model.play({"steps": [*steps, go, {"text": "Over."}]}, contains="Send it away.")
    decide(review, approved=approved, by=session.user)
    [further] = task.session.turns.filter(kind=Turn.Kind.CONTINUATION)
    run_turn(further)
    assert evil.heard.count("POST /take") == sent
    assert report_on(task.pk).status == "completed"
    assert task.session.turns.count() == 2


def test_a_held_operation_starts_once_when_approved(
    send: Send, evil: EvilSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    effects = tmp_path / "effects"
    monkeypatch.setenv(FOREIGN_FILE, str(effects))
    answer = obey(send, evil, call("test_foreign_operation", "long", note="x"))
    assert (answer["type"], Operation.objects.count()) == ("review_required", 0)
    assert approve(answer, send)["type"] == "operation_started"
    assert go_on(answer, send, "again")["error"] == "already_done"
    operation = Operation.objects.get()
    runtime().run(Operation, operation.pk, runner.run)
    assert len(effects.read_text().splitlines()) == 1
    assert (ToolCall.objects.get(call_id="long").result or {})["value"] == "x"
    assert Turn.objects.filter(kind=Turn.Kind.CONTINUATION).count() == 1
