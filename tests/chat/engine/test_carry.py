"""What a model gives with an answer comes back to it, exactly, and to nobody else."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from django.apps import apps
from django.test import Client
from pytest_django import Settings

import llm
from accounts.models import User
from chat import turns
from chat.models import Message, Session, Step, Turn
from durable import event_log
from llm.catalog import ModelInfo
from tests.chat.engine.conftest import run_turn
from tests.strict_model import CANARY, KINDS, StrictModel
from tools.models import ToolCall

pytestmark = pytest.mark.django_db(transaction=True)
GIVING = [kind for kind in KINDS if kind not in ("all", "other")]
Send = Callable[..., Turn]


@pytest.fixture
def strict(settings: Settings, redis_server: object) -> Iterator[StrictModel]:
    with StrictModel() as server:
        settings.OPENAI_BASE_URL = server.url
        settings.OPENAI_API_KEY = "strict"
        settings.COPILOT_TITLE_MODEL = "other"
        settings.COPILOT_FALLBACK_MODEL = ""
        yield server


@pytest.fixture
def ask(session: Session, strict: StrictModel, settings: Settings) -> Send:
    def asking(text: str, model: str) -> Turn:
        settings.COPILOT_MODEL = model
        turn = turns.submit(session, turns.Input(text=text)).turn
        run_turn(turn)
        return turn

    return asking


def ended(turn: Turn, strict: StrictModel) -> None:
    assert (turn.end_reason, strict.refusals) == ("done", [])


@pytest.mark.parametrize("kind", GIVING)
def test_all_of_a_turn_comes_back_and_in_later_turns_too(ask: Send, strict: StrictModel, kind: str) -> None:
    for text in ("look it up", "and briefly", "look again"):
        ended(ask(text, kind), strict)
    assert sum(bool(step.carry) for step in Step.objects.all()) == 7


@pytest.mark.parametrize("kind", GIVING)
def test_another_model_is_sent_nothing_of_it_and_the_first_gets_it_back(
    ask: Send, strict: StrictModel, kind: str
) -> None:
    ended(ask("look it up", kind), strict)
    ended(ask("look again", "other"), strict)
    assert CANARY not in str(strict.bodies[-1])
    ended(ask("and again", kind), strict)


def test_the_same_model_elsewhere_is_sent_nothing(ask: Send, strict: StrictModel, settings: Settings) -> None:
    ended(ask("look it up", "gemini"), strict)
    with StrictModel() as elsewhere:
        settings.OPENAI_BASE_URL = elsewhere.url
        ended(ask("look again", "gemini"), elsewhere)


def test_the_fallback_model_is_sent_nothing_and_goes_on_with_its_own(
    ask: Send, strict: StrictModel, settings: Settings
) -> None:
    settings.COPILOT_FALLBACK_MODEL = "openrouter"
    strict.is_down = lambda body: body["model"] == "gemini" and len(strict.bodies) == 1
    turn = ask("look it up", "gemini")
    ended(turn, strict)
    assert [step.model_name for step in turn.steps.all()] == ["gemini", "openrouter", "openrouter"]


@pytest.mark.parametrize("kind", GIVING)
def test_regenerate_keeps_what_came_before(
    ask: Send, session: Session, strict: StrictModel, kind: str
) -> None:
    ended(ask("look it up", kind), strict)
    ended(ask("look again", kind), strict)
    again = turns.regenerate(session).turn
    run_turn(again)
    ended(again, strict)
    said = [message for message in strict.bodies[-1]["messages"] if message["role"] == "assistant"]
    assert len(said) == 5


@pytest.mark.parametrize("kind", GIVING)
def test_compaction_leaves_the_recent_part_whole(
    ask: Send, session: Session, strict: StrictModel, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended(ask("look it up " + "and tell me more " * 200, kind), strict)
    window = ModelInfo(context_tokens=4_000, sees_images=False)
    monkeypatch.setattr(llm, "model_info", lambda name: window)
    for _ in range(3):
        ended(ask("look again " + "and tell me more " * 200, kind), strict)
    session.refresh_from_db()
    assert session.summary


@pytest.mark.parametrize("kind", GIVING)
def test_provider_that_no_longer_accepts_what_it_gave_does_not_end_the_conversation(
    ask: Send, strict: StrictModel, kind: str
) -> None:
    ended(ask("look it up", kind), strict)
    strict.given.clear()
    turn = ask("look again", kind)
    assert turn.end_reason == "done" and len(strict.refusals) == 3  # once for each step


def test_nobody_is_shown_it(
    ask: Send, session: Session, strict: StrictModel, caplog: pytest.LogCaptureFixture
) -> None:
    """Not in the admin, not in any other row, not in the log: not even when the model quotes it in an error."""
    ended(ask("look it up", "all"), strict)
    for given in strict.given.values():
        given.message = {"lacking": "this"} | given.message  # from now on it wants something else back
    failed = ask("look again", "all")
    assert failed.end_reason == "model_error" and CANARY in strict.refusals[-1]
    shown = dict(admin_pages())
    assert "Answer" in str(shown) and "First second." in str(shown)
    shown |= dict(other_rows()) | {"log": caplog.text}
    for turn in session.turns.all():
        shown[f"events {turn.pk}"] = str([entry.body for entry in event_log.stored(turn.pk)])
    assert [name for name, text in shown.items() if CANARY in text] == []


def admin_pages() -> Iterator[tuple[str, str]]:
    """Every page of the admin about the conversation: lists, rows, the timeline."""
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    for model in (Session, Message, Turn, Step, ToolCall):
        place = f"/admin/{model._meta.label_lower.replace('.', '/')}/"
        yield place, client.get(place, follow=True).content.decode()
        for row in model._default_manager.all():
            page = client.get(f"{place}{row.pk}/change/", follow=True)
            assert page.status_code == 200
            yield page.request["PATH_INFO"], page.content.decode()
    for turn in Turn.objects.all():
        yield "timeline", client.get(f"/admin/timeline/{turn.pk}/", follow=True).content.decode()


def other_rows() -> Iterator[tuple[str, str]]:
    """Everything the database has, apart from the one column."""
    for model in apps.get_models():
        columns = [field.attname for field in model._meta.concrete_fields if field.name != "carry"]
        yield model._meta.label, str(list(model._default_manager.values_list(*columns)))
