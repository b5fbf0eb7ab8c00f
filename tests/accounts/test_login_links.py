"""One-time login links: one use, fifteen minutes, one winner."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from accounts.models import LoginLink, User
from accounts.tokens import make_login_link, redeem_login_link
from tests.accounts.conftest import race


def test_a_link_logs_in_once_and_then_says_what_to_do(client: Client, ada: User) -> None:
    path = make_login_link(ada)
    assert path.startswith("/login/once/")
    before = client.session.session_key
    first = client.get(path)
    assert (first.status_code, first["Location"], first.content) == (302, "/", b"")
    assert "no-store" in first["Cache-Control"]
    assert client.session.session_key != before
    assert client.get("/api/me").json()["username"] == "ada"
    other = Client()
    second = other.get(path)
    assert second.status_code == 410
    assert "./copilot up" in second.content.decode()
    assert "./copilot login_link demo" in second.content.decode()
    assert other.get("/api/me").status_code == 401


def test_looking_at_a_link_without_following_it_does_not_use_it_up(client: Client, ada: User) -> None:
    path = make_login_link(ada)
    assert client.head(path).status_code == 405
    assert client.post(path).status_code == 405
    assert client.get(path).status_code == 302


def test_a_link_is_over_after_fifteen_minutes(client: Client, ada: User) -> None:
    path = make_login_link(ada)
    left = LoginLink.objects.get().expires_at - timezone.now()
    assert timedelta(minutes=14) < left <= timedelta(minutes=15)
    LoginLink.objects.update(expires_at=timezone.now() - timedelta(milliseconds=1))
    assert client.get(path).status_code == 410
    make_login_link(ada)
    assert LoginLink.objects.count() == 1


def test_the_link_of_a_deactivated_user_does_not_work(client: Client, ada: User) -> None:
    path = make_login_link(ada)
    User.objects.update(is_active=False)
    assert client.get(path).status_code == 410


def test_only_the_hash_of_a_link_is_kept(ada: User) -> None:
    token = make_login_link(ada).split("/")[3]
    row = LoginLink.objects.get()
    assert token not in (row.token_hash, str(row))


@pytest.mark.parametrize("token", ["", "nonsense", "\x00", "\ud800", "x" * 50_000])
def test_what_is_no_token_logs_nobody_in(db: None, token: str) -> None:
    assert redeem_login_link(token) is None


def test_following_a_link_replaces_whoever_was_logged_in(client: Client, ada: User, bob: User) -> None:
    client.force_login(bob)
    client.get(make_login_link(ada))
    assert client.get("/api/me").json()["username"] == "ada"


@pytest.mark.django_db(transaction=True)
def test_of_many_who_follow_one_link_exactly_one_gets_in(ada: User) -> None:
    path = make_login_link(ada)
    statuses = race(lambda: Client().get(path).status_code)
    assert sorted(statuses) == [302] + [410] * 7


def test_the_command_prints_a_working_link(
    client: Client, ada: User, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.SITE_URL = "https://copilot.example"
    call_command("login_link", "ada")
    link = capsys.readouterr().out.strip()
    assert link.startswith("https://copilot.example/login/once/")
    assert client.get(link.removeprefix("https://copilot.example")).status_code == 302


def test_the_command_explains_an_unknown_or_deactivated_user(ada: User) -> None:
    User.objects.update(is_active=False)
    for name in ("nobody", "ada"):
        with pytest.raises(CommandError, match=f"no active user '{name}'"):
            call_command("login_link", name)
