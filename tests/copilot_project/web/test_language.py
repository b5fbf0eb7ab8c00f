"""The language of the pages that Django draws, and that programs always get English."""

from __future__ import annotations

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db
GERMAN = {"Accept-Language": "de-DE,de;q=0.9,en;q=0.5"}


def test_pages_are_in_the_language_of_the_browser() -> None:
    page = Client(headers=GERMAN).get("/login/")
    assert page["Content-Language"] == "de"
    assert '<html lang="de">' in page.text
    assert "Anmelden" in page.text and "Passwort" in page.text
    assert "Nicht gefunden" in Client(headers=GERMAN).get("/nowhere").text
    assert "Not found" in Client().get("/nowhere").text


def test_language_chosen_in_the_chat_wins_over_that_of_the_browser() -> None:
    client = Client(headers=GERMAN)
    client.cookies["ratchet_language"] = "en"
    assert "Log in" in client.get("/login/").text
    client.cookies["ratchet_language"] = "xx-nonsense"
    assert "Anmelden" in client.get("/login/").text


def test_programs_get_english_whatever_they_send() -> None:
    for path in ("/api/sessions/nothing", "/api/nowhere"):
        told = Client(headers=GERMAN).get(path).json()["error"]["message"]
        assert told.isascii() and "nicht" not in told.lower()


def test_page_in_another_language_leaves_the_next_request_alone() -> None:
    client = Client()
    client.get("/login/", headers={"Accept-Language": "de"})
    assert "Log in" in client.get("/login/").text
