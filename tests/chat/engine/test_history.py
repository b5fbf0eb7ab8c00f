"""What the model reads: pictures, facts, summaries of what is long past; and the names of conversations."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from PIL import Image
from pytest_django import Settings

import llm
from accounts.errors import OverBudget
from accounts.models import Budget, LedgerEntry, User
from chat import titles, turns
from chat.engine import compaction, history
from chat.models import Message, Session, Turn
from durable import event_log
from durable.event_log import START
from llm.catalog import ModelInfo
from llm.prefix import PrefixedMessages, StablePrefix
from tests.chat.engine.conftest import run_turn
from tests.offline_server import OfflineServer
from tools.models import Understanding
from tools.preconditions import GUIDE
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


def test_picture_in_an_answer_is_shown_to_the_model_with_the_next_message(
    send: Send, session: Session, model: OfflineServer, settings: Settings
) -> None:
    settings.COPILOT_MODEL = SEEING
    file_id = picture(session.user)
    first = send({"steps": [{"text": f"Here: ![red](workspace://{file_id})"}]})
    assert first.files_seen == [file_id], "the script is the person's message and names it too"
    second = send({"steps": [{"text": "Red."}]})
    assert second.files_seen == [file_id] and model.requests[-1].has_images


def test_picture_that_only_an_answer_names_is_shown(session: Session) -> None:
    file_id = picture(session.user)
    said = [
        {"role": "assistant", "content": f"![red](workspace://{file_id})"},
        {"role": "user", "content": "?"},
    ]
    messages = PrefixedMessages([], StablePrefix(), said)
    shown = history.add_images(messages, session.user, SEEING)
    assert shown.file_ids == [file_id]
    assert history.add_images(messages, None, SEEING).file_ids == []


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


def window(monkeypatch: pytest.MonkeyPatch, tokens: int) -> None:
    monkeypatch.setattr(llm, "model_info", lambda name: ModelInfo(context_tokens=tokens, sees_images=False))


def test_long_conversation_is_summarised_and_stays_valid(
    send: Send, session: Session, model: OfflineServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    window(monkeypatch, 4_000)
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


def wordy_call(number: int) -> dict[str, Any]:
    return {
        "name": "no_such_tool",
        "arguments": {"text": f"call {number} " + "words " * 800},
        "id": f"c{number}",
    }


def hints_of(turn: Turn) -> list[str]:
    entries = [json.loads(entry.body) for entry in event_log.tail(turn.pk, START)]
    return [entry["data"]["message"] for entry in entries if entry["type"] == "data-status"]


def test_single_answer_that_outgrows_the_window_goes_on_with_shorter_tool_calls(
    send: Send, model: OfflineServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    window(monkeypatch, 14_000)  # the script takes most of it, and the calls as much again
    steps = [{"tool_calls": [wordy_call(number)]} for number in range(6)]
    turn = send({"steps": [*steps, {"text": "Done."}]})
    assert turn.end_reason == "done"
    assert compaction.SHORTENING in hints_of(turn) and compaction.SUMMARISING not in hints_of(turn)
    last = model.requests[-1].body["messages"]
    assert llm.estimate_message_tokens(last) <= 10_500
    asked = [call["id"] for message in last for call in message.get("tool_calls") or ()]
    answered = [message["tool_call_id"] for message in last if message["role"] == "tool"]
    assert asked == answered and len(asked) == 6, "every call keeps its result"
    assert Message.objects.get(pk=turn.answer_id).text == "Done."


def test_guide_on_building_agents_is_never_cut_short() -> None:
    def call(name: str) -> dict[str, Any]:
        return {"id": name, "type": "function", "function": {"name": name, "arguments": "{}"}}

    names = [GUIDE, "web_fetch"]
    messages: list[dict[str, Any]] = [
        {"role": "assistant", "content": None, "tool_calls": [call(name) for name in names]},
        *({"role": "tool", "tool_call_id": name, "content": "words " * 5_000} for name in names),
    ]
    guide, fetched = compaction.shorten(messages, compaction.TokenBudget(all=10, recent=5))[1:]
    assert guide == messages[1] and len(fetched["content"]) < 1_000


def test_model_that_finds_the_conversation_too_long_is_asked_again_with_less(
    send: Send, session: Session, model: OfflineServer
) -> None:
    send({"steps": [{"text": "Before."}]})
    too_long = {"status": 400, "error": {"code": "context_length_exceeded"}, "times": 1}
    turn = send({"id": "long", "steps": [{"text": "It fits.", "fault": too_long}]})
    assert turn.end_reason == "done"
    assert Message.objects.get(pk=turn.answer_id).text == "It fits."


def test_model_that_finds_everything_too_long_ends_the_turn_with_a_sentence(send: Send) -> None:
    too_long = {"status": 400, "error": {"code": "context_length_exceeded"}, "times": None}
    turn = send({"steps": [{"text": "Never.", "fault": too_long}]})
    assert (turn.status, turn.end_reason) == ("failed", "model_error")
    assert turn.error


def test_summary_and_title_are_charged_once(
    send: Send, session: Session, model: OfflineServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    window(monkeypatch, 4_000)
    for number in range(4):
        send({"steps": [{"text": f"answer {number} " + "words " * 500}]})
    session.refresh_from_db()
    summaries = LedgerEntry.objects.filter(key__contains=":summary:", user=session.user)
    assert session.summary and summaries.filter(input_tokens__gt=0).exists()
    for _ in range(2):
        titles.make_title(session.pk)
    assert LedgerEntry.objects.filter(key=f"session:{session.pk}:title", user=session.user).count() == 1


def test_title_of_a_person_without_budget_is_the_first_words(session: Session, model: OfflineServer) -> None:
    Budget.objects.update_or_create(user=session.user, defaults={"day_limit": Decimal(0)})
    Message.objects.create(session=session, role="user", text="Plan a trip to Porto")
    titles.make_title(session.pk)
    session.refresh_from_db()
    assert session.title == "Plan a trip to Porto" and not model.requests


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
    assert titles.ask_for_title(session, "anything") is None
    assert (
        titles.first_words("Plan a trip to Porto in spring with the whole family")
        == "Plan a trip to Porto in spring with"
    )
    assert titles.first_words("   ") == "Untitled conversation"


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
