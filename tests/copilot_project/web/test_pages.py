"""The pages of the composition root: the chat page."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from accounts.models import User

pytestmark = pytest.mark.django_db


@pytest.fixture
def visitor(client: Client) -> Client:
    client.force_login(User.objects.create_user("ann"))
    return client


def test_chat_page_sends_strangers_to_the_login(client: Client) -> None:
    answer = client.get("/c/some-session")
    assert answer.status_code == 302
    assert answer.headers["Location"] == "/login/?next=/c/some-session"


def test_unbuilt_page_says_how_to_build_it(visitor: Client, settings: Settings, tmp_path: Path) -> None:
    settings.UI_BUILD = tmp_path
    answer = visitor.get("/")
    assert answer.status_code == 200
    assert b"./copilot build_ui" in answer.content


def test_built_page_is_served_under_a_strict_policy(
    visitor: Client, settings: Settings, tmp_path: Path
) -> None:
    (tmp_path / "index.html").write_text("<!doctype html><title>built</title>")
    settings.UI_BUILD = tmp_path
    answer = visitor.get("/c/anything")
    assert b"built" in answer.content
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy and "unsafe" not in policy
    assert visitor.post("/").status_code == 405


@pytest.mark.parametrize(
    "address",
    ["/", "/c/x", "/library", "/library/agents/1/runs", "/account/credentials", "/store/a/b", "/styleguide"],
)
def test_every_deep_link_serves_the_same_page(
    visitor: Client, settings: Settings, tmp_path: Path, address: str
) -> None:
    (tmp_path / "index.html").write_text("<!doctype html><title>built</title>")
    settings.UI_BUILD = tmp_path
    assert b"built" in visitor.get(address).content
