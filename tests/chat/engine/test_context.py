"""What the model reads: pictures, facts, summaries of what is long past; and the names of conversations."""

from __future__ import annotations

import io
from collections.abc import Callable
from decimal import Decimal

import pytest
from PIL import Image
from pytest_django import Settings

import llm
from accounts.ledger import OverBudget
from accounts.models import Budget, User
from chat import titles, turns
from chat.engine import history
from chat.models import Message, Session, Turn
from llm.catalog import ModelInfo
from llm.offline.embedded import OfflineServer
from tests.chat.engine.conftest import run_turn
from tools.models import Understanding
from workspace import files

pytestmark = pytest.mark.django_db(transaction=True)
Send = Callable[..., Turn]
SEEING = "gpt-5"


def picture(user: User | None) -> str:
    data = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(data, "PNG")
    assert user is not None
    return str(files.save(user, "red.png", data.getvalue()).id)


def test_model_that_sees_gets_the_picture_and_the_turn_says_so(
    send: Send, session: Session, model: OfflineServer, settings: Settings
) -> None:
    settings.COPILOT_MODEL = SEEING
    file_id = picture(session.user)
    turn = send({"steps": [{"text": "Red."}]}, attachments=[file_id])
    assert turn.files_seen == [file_id]
    assert any(request.has_images for request in model.requests)


def test_blind_model_gets_no_picture(send: Send, session: Session, model: OfflineServer) -> None:
    turn = send({"steps": [{"text": "I see nothing."}]}, attachments=[picture(session.user)])
    assert turn.files_seen == []
    assert not any(request.has_images for request in model.requests)


def test_picture_of_another_person_is_not_shown(send: Send, model: OfflineServer, settings: Settings) -> None:
    settings.COPILOT_MODEL = SEEING
    foreign = picture(User.objects.create_user("bob"))
    turn = send(f"look at workspace://{foreign}")
    assert turn.files_seen == []
    assert not any(request.has_images for request in model.requests)


def test_facts_a_person_told_are_before_the_model(send: Send, session: Session, model: OfflineServer) -> None:
    assert session.user_id is not None
    Understanding.add(session.user_id, {"business": "sells shoes in Porto"})
    send("hello")
    assert "sells shoes in Porto" in str(model.requests[0].body)


def test_long_conversation_is_summarised_and_stays_valid(
    send: Send, session: Session, model: OfflineServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(llm, "model_info", lambda name: ModelInfo(context_tokens=4_000, sees_images=False))
    for number in range(6):
        send({"steps": [{"text": f"answer {number} " + "words " * 500}]})
    session.refresh_from_db()
    assert session.summary and session.summary_until > 0
    last = session.turns.order_by("-queued_at").first()
    assert last is not None and last.end_reason == "done"
    messages = history.messages_for(last)
    assert "Summary of the earlier part" in str(messages[1])
    assert messages[2]["role"] == "user"
    assert session.messages.count() == 12  # nothing a person wrote or read is lost


def test_title_is_made_once_and_never_over_a_name_the_user_gave(
    session: Session, model: OfflineServer
) -> None:
    Message.objects.create(session=session, role="user", text="Plan a trip to Porto in spring")
    titles.make_title(session.pk)
    session.refresh_from_db()
    assert (session.titled_by, bool(session.title)) == ("model", True)
    Session.objects.filter(pk=session.pk).update(title="Mine", titled_by="user")
    titles.make_title(session.pk)
    session.refresh_from_db()
    assert session.title == "Mine"


def test_title_falls_back_to_the_first_words_when_the_model_fails(
    session: Session, settings: Settings
) -> None:
    settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY = "http://127.0.0.1:9/v1", "x"
    settings.COPILOT_MODEL = "none"
    assert titles.ask_for_title("anything") == ""
    assert (
        titles.first_words("Plan a trip to Porto in spring with the whole family")
        == "Plan a trip to Porto in spring with"
    )
    assert titles.first_words("   ") == "New conversation"


@pytest.mark.parametrize("essay", ["x" * 500, "", "\n\n"])
def test_what_is_no_title_is_not_taken_for_one(essay: str) -> None:
    assert titles.clean(essay) == ""


def test_message_over_budget_is_refused_before_any_model_call(session: Session, model: OfflineServer) -> None:
    assert session.user is not None
    Budget.objects.update_or_create(user=session.user, defaults={"day_limit": Decimal(0)})
    with pytest.raises(OverBudget):
        turns.submit(session, turns.Input(text="hello"))
    assert not session.turns.exists() and not model.requests


def test_budget_used_up_meanwhile_ends_the_turn_with_a_reason(session: Session, model: OfflineServer) -> None:
    turn = turns.submit(session, turns.Input(text="hello")).turn
    assert session.user is not None
    Budget.objects.update_or_create(user=session.user, defaults={"day_limit": Decimal(0)})
    run_turn(turn)
    assert (turn.status, turn.end_reason) == ("failed", "budget")
    assert not model.requests
