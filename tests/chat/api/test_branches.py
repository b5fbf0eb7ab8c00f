"""Branches: siblings of a message, choosing one, what the model then reads, the export, and forks."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from rest_framework.test import APIClient

from chat import branches, turns
from chat.engine import history
from chat.models import Branch, Message, Session, Step, Turn
from chat.turns import Input
from tests.chat.api.conftest import client_of
from tools.models import Operation, ToolCall

pytestmark = pytest.mark.django_db(transaction=True)


def answer(turn: Turn, text: str) -> Turn:
    """End a turn with an answer, as a worker would."""
    Step.objects.create(turn=turn, number=0, attempt=1, parts=[{"kind": "text", "id": "t", "text": text}])
    Turn.objects.filter(pk=turn.pk).update(status=Turn.COMPLETED, end_reason="done", attempt=1)
    turn.refresh_from_db()
    return turn


def shown(api: APIClient, session: Session) -> list[str]:
    return [message["content"] for message in messages(api, session)]


def messages(api: APIClient, session: Session) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = api.get(f"/api/sessions/{session.pk}").json()["messages"]
    return found


def places(message: dict[str, Any]) -> tuple[int, int]:
    versions = message["versions"]
    return [version["shown"] for version in versions].index(True) + 1, len(versions)


def read_by_model(session: Session) -> list[str]:
    session.refresh_from_db()
    turn = Turn(session=session)
    return [str(message["content"]) for message in history.messages_for(turn) if message["role"] != "system"]


@pytest.fixture
def edited(session: Session, send: Callable[..., Turn]) -> dict[str, Turn]:
    """Two exchanges; the second one answered again, then the first one edited and gone on from."""
    made = {"first": answer(send("one"), "A1"), "second": answer(send("two"), "A2")}
    made["again"] = answer(turns.regenerate(session).turn, "A2 again")
    question = made["first"].messages.get(role="user")
    fresh = turns.regenerate(session, message_id=question.pk, edited=Input(text="uno")).turn
    made["edited"] = answer(fresh, "B1")
    made["after"] = answer(send("due"), "B2")
    return made


def test_an_answer_again_and_an_edit_are_siblings(
    api: APIClient, session: Session, edited: dict[str, Turn]
) -> None:
    assert shown(api, session) == ["uno", "B1", "due", "B2"]
    question, reply, *rest = messages(api, session)
    assert places(question) == (2, 2)
    assert "versions" not in reply, "the other answer is to another wording"
    assert not [message for message in rest if "versions" in message]


def test_choosing_a_version_brings_back_what_followed_it_as_it_was_left(
    api: APIClient, session: Session, edited: dict[str, Turn]
) -> None:
    first = messages(api, session)[0]["versions"][0]["turn_id"]
    assert api.post(f"/api/turns/{first}/show").status_code == 200
    assert shown(api, session) == ["one", "A1", "two", "A2 again"]
    assert places(messages(api, session)[3]) == (2, 2)
    api.post(f"/api/turns/{edited['second'].pk}/show")
    assert shown(api, session) == ["one", "A1", "two", "A2"]
    api.post(f"/api/turns/{edited['edited'].pk}/show")
    assert shown(api, session) == ["uno", "B1", "due", "B2"]
    api.post(f"/api/turns/{edited['first'].pk}/show")
    assert shown(api, session) == ["one", "A1", "two", "A2"], "the answer that was shown last there"
    api.post(f"/api/turns/{edited['first'].pk}/show")
    assert shown(api, session) == ["one", "A1", "two", "A2"], "a second time changes nothing"


def test_the_model_reads_the_branch_that_is_shown_and_a_new_message_continues_it(
    api: APIClient, session: Session, edited: dict[str, Turn], send: Callable[..., Turn]
) -> None:
    assert read_by_model(session)[:4] == ["uno", "B1", "due", "B2"]
    branches.show(edited["second"])
    assert read_by_model(session)[:4] == ["one", "A1", "two", "A2"]
    answer(send("three"), "A3")
    assert read_by_model(session)[4:6] == ["three", "A3"]
    branches.show(edited["again"])
    assert shown(api, session) == ["one", "A1", "two", "A2 again"]
    branches.show(edited["edited"])
    assert shown(api, session) == ["uno", "B1", "due", "B2"]
    branches.show(edited["second"])
    assert shown(api, session) == ["one", "A1", "two", "A2", "three", "A3"]


def test_what_the_cache_knows_of_one_branch_is_not_read_in_another(
    session: Session, send: Callable[..., Turn]
) -> None:
    first = answer(send("one"), "A1")
    again = answer(turns.regenerate(session).turn, "A1 again")
    answer(send("two"), "A2")
    answer(send("three"), "A3")
    assert "A1 again" in read_by_model(session)
    branches.show(first)
    answer(send("two"), "B2")
    answer(send("three"), "B3")
    assert read_by_model(session)[:6] == ["one", "A1", "two", "B2", "three", "B3"]
    branches.show(again)
    assert read_by_model(session)[:6] == ["one", "A1 again", "two", "A2", "three", "A3"]


def test_answering_an_older_version_again_adds_a_third(
    api: APIClient, session: Session, send: Callable[..., Turn]
) -> None:
    first = answer(send("one"), "A1")
    answer(turns.regenerate(session).turn, "A2")
    branches.show(first)
    answer(turns.regenerate(session).turn, "A3")
    assert places(messages(api, session)[1]) == (3, 3)
    branches.show(first)
    assert places(messages(api, session)[1]) == (1, 3)


def test_outside_content_and_a_summary_follow_the_branch(session: Session, send: Callable[..., Turn]) -> None:
    first = answer(send("one"), "A1")
    Turn.objects.filter(pk=first.pk).update(outside_sources=["evil.example"])
    Session.objects.filter(pk=session.pk).update(
        outside_sources=["evil.example"], summary="All of it", summary_until=2
    )
    session.refresh_from_db()
    turns.regenerate(session)
    session.refresh_from_db()
    assert (session.outside_sources, session.summary, session.summary_until) == ([], "", 0)
    answer(Turn.objects.get(status="queued"), "A2")
    branches.show(first)
    session.refresh_from_db()
    assert session.outside_sources == ["evil.example"]


def test_no_version_is_chosen_while_a_turn_is_live_or_by_somebody_else(
    api: APIClient, bobs_api: APIClient, session: Session, edited: dict[str, Turn], send: Callable[..., Turn]
) -> None:
    target = f"/api/turns/{edited['first'].pk}/show"
    assert bobs_api.post(target).status_code == 404
    send("running")
    refused = api.post(target)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "session_busy")
    assert api.post(f"/api/turns/{uuid.uuid4()}/show").status_code == 404


def test_the_export_has_every_version(api: APIClient, session: Session, edited: dict[str, Turn]) -> None:
    raw = b"".join(api.get(f"/api/sessions/{session.pk}/export").streaming_content)  # type: ignore[attr-defined]
    exported = json.loads(raw)
    assert [message["content"] for message in exported["messages"]] == ["uno", "B1", "due", "B2"]
    others = exported["other_versions"]
    assert [message["content"] for message in others] == ["one", "A1", "two", "A2", "two", "A2 again"]
    assert len(others[3]["versions"]) == 2
    response = api.get(f"/api/sessions/{session.pk}/export?as=markdown")
    text = b"".join(response.streaming_content).decode()  # type: ignore[attr-defined]
    assert text.index(", 2 / 2") < text.index("# Other versions") < text.index("A2 again")


def test_conversations_from_before_there_were_branches_get_them(
    api: APIClient, session: Session, edited: dict[str, Turn]
) -> None:
    before = {turn.pk: turn.branch for turn in session.turns.all()}
    session.refresh_from_db()
    was = session.branch
    Branch.objects.all().delete()
    session.turns.update(branch=None)
    Session.objects.update(branch=None)
    import_module("chat.migrations.0010_branches").place_on_branches(apps, None)
    session.refresh_from_db()
    assert {turn.pk: turn.branch for turn in session.turns.all()} == before
    assert session.branch == was
    branches.show(edited["first"])
    assert shown(api, session) == ["one", "A1", "two", "A2 again"]


# --- forks ----------------------------------------------------------------------------------------


def fork(api: APIClient, session: Session, message: Message, **more: Any) -> Any:
    return api.post(f"/api/sessions/{session.pk}/fork", {"message_id": str(message.pk)} | more, format="json")


def test_a_fork_at_an_answer_is_a_conversation_of_its_own(
    api: APIClient, session: Session, edited: dict[str, Turn], send: Callable[..., Turn]
) -> None:
    at = Message.objects.get(pk=edited["edited"].answer_id)
    made = fork(api, session, at)
    assert made.status_code == 201
    assert (made.json()["forked_from"], made.json()["draft"]) == (str(session.pk), None)
    copy = Session.objects.get(pk=made.json()["id"])
    assert shown(api, copy) == ["uno", "B1"]
    assert read_by_model(copy)[:2] == ["uno", "B1"]
    answer(turns.submit(copy, Input(text="more")).turn, "C2")
    assert shown(api, copy) == ["uno", "B1", "more", "C2"]
    assert shown(api, session) == ["uno", "B1", "due", "B2"], "the source stays as it was"
    answer(turns.regenerate(copy, message_id=copy.messages.get(seq=at.seq).pk).turn, "again")
    assert shown(api, copy) == ["uno", "again"]


def test_a_fork_at_a_persons_message_gives_it_back_as_a_draft(
    api: APIClient, session: Session, edited: dict[str, Turn]
) -> None:
    at = edited["after"].messages.get(role="user")
    made = fork(api, session, at).json()
    assert made["draft"]["content"] == "due"
    assert shown(api, Session.objects.get(pk=made["id"])) == ["uno", "B1"]


def test_a_fork_repeats_no_effect(api: APIClient, session: Session, send: Callable[..., Turn]) -> None:
    turn = answer(send("one"), "A1")
    Turn.objects.filter(pk=turn.pk).update(cost=3, input_tokens=10)
    parts = [{"kind": "tool", "id": "c1", "name": "create_agent", "arguments": "{}"}]
    Step.objects.filter(turn=turn).update(parts=parts)
    call = {"step": 0, "index": 0, "call_id": "c1", "name": "create_agent", "arguments": {}, "attempt": 1}
    result = {"type": "operation_started", "tool_name": "create_agent", "message": "Started."}
    ToolCall.objects.create(
        key=f"{turn.pk}:0:c1",
        turn_id=turn.pk,
        session_id=session.pk,
        effect="external",
        state="succeeded",
        result=result,
        **call,
    )
    made = fork(api, session, Message.objects.get(pk=turn.answer_id)).json()
    copied = Turn.objects.get(session=made["id"])
    assert (copied.status, float(copied.cost), copied.input_tokens) == ("completed", 0.0, 0)
    assert not Turn.objects.filter(status__in=Turn.LIVE).exists()
    assert not Operation.objects.filter(session_id=made["id"]).exists()
    output = messages(api, Session.objects.get(pk=made["id"]))[1]["parts"][-1]["output"]
    assert "in the conversation it was started in" in output["message"]


def test_the_same_fork_twice_is_one_and_a_strangers_is_none(
    api: APIClient, bobs_api: APIClient, session: Session, send: Callable[..., Turn]
) -> None:
    at = Message.objects.get(pk=answer(send("one"), "A1").answer_id)
    chosen = str(uuid.uuid4())
    first, second = fork(api, session, at, id=chosen), fork(api, session, at, id=chosen)
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json()["id"] == second.json()["id"] == chosen
    assert Session.objects.count() == 2
    assert fork(bobs_api, session, at).status_code == 404
    foreign = Session.objects.create(user=None, visitor_id=uuid.uuid4())
    assert fork(api, session, at, id=str(foreign.pk)).status_code == 404
    assert fork(api, session, Message(pk=uuid.uuid4())).status_code == 404
    assert fork(client_of(session.user), session, at, id="no").status_code == 400  # type: ignore[arg-type]


def test_a_turn_that_runs_is_not_forked(api: APIClient, session: Session, send: Callable[..., Turn]) -> None:
    turn = send("one")
    Turn.objects.filter(pk=turn.pk).update(status=Turn.RUNNING)
    refused = fork(api, session, Message.objects.get(pk=turn.answer_id))
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "session_busy")
