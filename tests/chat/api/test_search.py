"""Search with snippets, what is remembered, and instructions for every answer."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from rest_framework.test import APIClient

from accounts.models import User
from chat import search, turns
from chat.engine import history
from chat.models import Session, Turn
from tests.chat.api.test_branches import answer
from tools.models import Understanding

pytestmark = pytest.mark.django_db(transaction=True)


def found(api: APIClient, words: str) -> list[tuple[str, str]]:
    return [(hit["role"], hit["snippet"]) for hit in api.get("/api/search", {"words": words}).json()]


def test_words_are_found_in_titles_messages_and_answers_with_what_stands_around_them(
    api: APIClient, bobs_api: APIClient, session: Session, send: Callable[..., Turn]
) -> None:
    Session.objects.filter(pk=session.pk).update(title="About sourdough")
    turn = answer(
        send("How do I bake Sourdough?"), "x " * 200 + "Feed the sourdough, größer als gestern." + " y" * 200
    )
    hits = api.get("/api/search", {"words": "sourdough"}).json()
    assert [hit["role"] for hit in hits] == ["", "assistant", "user"]
    assert hits[1]["message_id"] == str(turn.answer_id)
    assert "Feed the sourdough" in hits[1]["snippet"]
    assert hits[1]["snippet"].startswith("…") and hits[1]["snippet"].endswith("…")
    assert len(hits[1]["snippet"]) <= 162
    assert [role for role, _ in found(api, "größer")] == ["assistant"]
    assert found(bobs_api, "sourdough") == []
    assert api.get("/api/search", {"words": " "}).status_code == 400


def test_what_is_not_shown_any_more_is_not_found(
    api: APIClient, session: Session, send: Callable[..., Turn]
) -> None:
    answer(send("one"), "the hidden answer")
    answer(turns.regenerate(session).turn, "the other answer")
    assert found(api, "hidden") == []
    assert len(found(api, "the other")) == 1


def test_a_snippet_is_one_line_around_the_hit() -> None:
    assert search.snippet_of("a\n\nb needle c", "NEEDLE") == "a b needle c"
    assert search.snippet_of("nothing", "needle") == "nothing"


# --- memory and instructions ----------------------------------------------------------------------


def test_what_is_remembered_can_be_read_changed_and_deleted(
    api: APIClient, bobs_api: APIClient, ada: User
) -> None:
    Understanding.add(ada.pk, {"user_name": "Ada", "software": ["Excel", "Word"]}, origin="a page")
    assert api.get("/api/memory").json()["facts"]["user_name"] == {"source": "a page", "fact": "Ada"}
    changed = {"user_name": None, "software": ["Calc"], "notes": ["Likes tea"]}
    facts = api.patch("/api/memory", changed, format="json").json()["facts"]
    assert {topic: known["fact"] for topic, known in facts.items()} == {
        "software": ["Calc"],
        "notes": ["Likes tea"],
    }
    assert facts["software"]["source"] == "the person, in chat"
    assert bobs_api.get("/api/memory").json()["facts"] == {}
    assert api.delete("/api/memory").status_code == 204
    assert api.get("/api/memory").json()["facts"] == {}
    assert APIClient().get("/api/memory").status_code in (401, 403)


@pytest.mark.parametrize(
    "body",
    [{}, [], {"unknown": "x"}, {"user_name": ["a", "list"]}, {"notes": "no list"}, {"user_name": "x" * 501}],
)
def test_what_is_no_fact_is_refused(api: APIClient, body: object) -> None:
    assert api.patch("/api/memory", body, format="json").status_code == 400
    assert api.get("/api/memory").json()["facts"] == {}


def test_instructions_are_before_the_model_in_every_conversation(
    api: APIClient, session: Session, ada: User
) -> None:
    assert api.patch("/api/me", {"instructions": "Answer in rhyme."}, format="json").status_code == 200
    assert api.patch("/api/me", {"instructions": "x" * 4001}, format="json").status_code == 400
    session = Session.objects.select_related("user").get(pk=session.pk)
    opening = list(history.messages_for(Turn(session=session)))
    assert opening[1]["role"] == "system"
    assert str(opening[1]["content"]).endswith("Answer in rhyme.")
