"""The account pages, as a browser uses them."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.hashers import MD5PasswordHasher
from django.contrib.sessions.models import Session
from django.test import Client
from pytest_django import Settings

from accounts.limits import (
    SIGNUP_FORMS_PER_ADDRESS,
    SIGNUPS_PER_ADDRESS,
    WRONG_LOGINS_PER_ADDRESS,
    WRONG_LOGINS_PER_NAME,
)
from accounts.models import CountedAttempt, User
from tests.accounts.conftest import PASSWORD, race

NEW = {"username": "grace", "email": "", "password1": PASSWORD, "password2": PASSWORD}


def log_in(client: Client, username: str = "ada", password: str = PASSWORD, **more: Any) -> Any:
    return client.post("/login/", {"username": username, "password": password}, **more)


class CountingHasher(MD5PasswordHasher):
    """Counts how often a password was worked on: the part of a login that takes time."""

    worked = 0

    def encode(self, password: str, salt: str) -> str:
        type(self).worked += 1
        return super().encode(password, salt)


def test_login_leads_to_the_start_page_and_logout_ends_it(client: Client, ada: User) -> None:
    answer = log_in(client)
    assert (answer.status_code, answer["Location"]) == (302, "/")
    assert client.get("/api/me").status_code == 200
    assert client.get("/logout/").status_code == 405
    assert client.post("/logout/")["Location"] == "/login/"
    assert client.get("/api/me").status_code == 401


def test_the_session_key_changes_at_login_and_the_old_one_is_worthless(client: Client, ada: User) -> None:
    session = client.session
    session["cart"] = 1
    session.save()
    planted = session.session_key or ""
    client.cookies["sessionid"] = planted
    log_in(client)
    assert client.session.session_key != planted
    assert client.session["cart"] == 1
    assert not Session.objects.filter(session_key=planted).exists()


@pytest.mark.parametrize(
    ("target", "where"),
    [
        ("/admin/", "/admin/"),
        ("https://evil.example/", "/"),
        ("//evil.example", "/"),
        ("javascript:alert(1)", "/"),
        ("/login/", "/"),
        ("/login/?next=/login/", "/"),
    ],
)
def test_login_goes_where_the_person_was_going_if_that_is_here(
    client: Client, ada: User, target: str, where: str
) -> None:
    form = {"username": "ada", "password": PASSWORD, "next": target}
    assert client.post("/login/", form)["Location"] == where
    assert client.get("/login/", {"next": target})["Location"] == where  # and when already logged in


def test_unknown_name_wrong_password_and_deactivated_account_look_the_same(client: Client, ada: User) -> None:
    User.objects.create_user("eve", password=PASSWORD, is_active=False)
    pages = [
        log_in(client, "ada", "wrong"),
        log_in(client, "nobody", "wrong"),
        log_in(client, "eve", PASSWORD),
    ]
    assert {page.status_code for page in pages} == {200}
    texts = {re.sub(r'value="[^"]*"', "", page.content.decode()) for page in pages}
    assert len(texts) == 1
    assert "do not match" in texts.pop()


@pytest.mark.parametrize("username", ["ada", "nobody"])
def test_a_wrong_login_costs_the_same_work_for_known_and_unknown_names(
    client: Client, ada: User, settings: Settings, username: str
) -> None:
    settings.PASSWORD_HASHERS = [f"{__name__}.CountingHasher"]
    CountingHasher.worked = 0
    log_in(client, username, "wrong")
    assert CountingHasher.worked == 1


@pytest.mark.parametrize("username", ["ada", "nobody"])
def test_twenty_wrong_logins_lock_the_address_out(client: Client, ada: User, username: str) -> None:
    for _ in range(WRONG_LOGINS_PER_ADDRESS):
        assert log_in(client, username, "wrong").status_code == 200
    locked = log_in(client, username, PASSWORD)
    assert locked.status_code == 429
    assert 0 < int(locked["Retry-After"]) <= 15 * 60
    assert "Too many attempts" in locked.content.decode()
    assert username not in locked.content.decode()
    assert client.get("/api/me").status_code == 401
    elsewhere = log_in(Client(REMOTE_ADDR="198.51.100.7"))
    assert elsewhere.status_code == 302


def test_a_lock_out_does_no_password_work_and_does_not_grow(
    client: Client, ada: User, settings: Settings
) -> None:
    for _ in range(WRONG_LOGINS_PER_ADDRESS):
        log_in(client, "ada", "wrong")
    settings.PASSWORD_HASHERS = [f"{__name__}.CountingHasher"]
    CountingHasher.worked, rows = 0, CountedAttempt.objects.count()
    for _ in range(3):
        log_in(client)
    assert (CountingHasher.worked, CountedAttempt.objects.count()) == (0, rows)


def test_a_forged_forwarded_address_does_not_dodge_the_lock_out(client: Client, ada: User) -> None:
    statuses = [
        log_in(client, "ada", "wrong", HTTP_X_FORWARDED_FOR=f"203.0.113.{number}").status_code
        for number in range(WRONG_LOGINS_PER_ADDRESS + 1)
    ]
    assert statuses[-1] == 429


def test_behind_a_trusted_proxy_each_client_is_counted_for_itself(ada: User, settings: Settings) -> None:
    settings.COPILOT_TRUSTED_PROXIES = ["127.0.0.1"]
    client = Client()
    for _ in range(WRONG_LOGINS_PER_ADDRESS):
        log_in(client, "ada", "wrong", HTTP_X_FORWARDED_FOR="203.0.113.1")
    assert log_in(client, HTTP_X_FORWARDED_FOR="203.0.113.1").status_code == 429
    assert log_in(client, HTTP_X_FORWARDED_FOR="198.51.100.1, 203.0.113.1").status_code == 429
    assert log_in(client, HTTP_X_FORWARDED_FOR="203.0.113.2").status_code == 302


def test_one_name_tried_from_everywhere_is_locked_too(ada: User) -> None:
    for number in range(WRONG_LOGINS_PER_NAME):
        log_in(Client(REMOTE_ADDR=f"10.0.{number}.1"), "ADA" if number % 2 else "ada", "wrong")
    assert log_in(Client(REMOTE_ADDR="10.1.0.1")).status_code == 429


def test_right_logins_do_not_count(client: Client, ada: User) -> None:
    for _ in range(WRONG_LOGINS_PER_ADDRESS + 5):
        assert log_in(client).status_code == 302
        client.post("/logout/")
    assert not CountedAttempt.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_wrong_logins_all_at_once_get_no_more_tries_than_one_by_one(ada: User) -> None:
    for _ in range(WRONG_LOGINS_PER_ADDRESS - 3):
        log_in(Client(), "ada", "wrong")
    statuses = race(lambda: log_in(Client(), "ada", "wrong").status_code)
    assert statuses.count(200) <= 3
    assert set(statuses) <= {200, 429}


@pytest.mark.parametrize("username", ["\x00", "a" * 100_000, "\ud800", "' OR 1=1 --", ""])
def test_odd_names_are_just_wrong(client: Client, db: None, username: str) -> None:
    body = f"username={quote(username, errors='surrogatepass')}&password=x"
    answer = client.post("/login/", body, "application/x-www-form-urlencoded")
    assert answer.status_code == 200
    assert 'role="alert"' in answer.content.decode()


def test_a_login_form_without_csrf_token_is_refused_with_a_page(ada: User) -> None:
    answer = Client(enforce_csrf_checks=True).post("/login/", {"username": "ada", "password": PASSWORD})
    assert answer.status_code == 403
    assert "reload the page" in answer.content.decode()


def test_sign_up_makes_an_account_and_logs_in(client: Client, db: None) -> None:
    assert client.get("/signup/").status_code == 200
    assert client.post("/signup/", NEW)["Location"] == "/"
    assert client.get("/api/me").json()["username"] == "grace"
    assert not User.objects.get().is_staff
    assert client.get("/signup/").status_code == 302


@pytest.mark.parametrize(
    "change",
    [
        {"username": ""},
        {"username": "Ada"},
        {"username": "a b"},
        {"username": "x" * 151},
        {"username": "a\x00"},
        {"email": "nonsense"},
        {"password2": "different"},
        {"password1": "12345678", "password2": "12345678"},
        {"password1": "password", "password2": "password"},
        {"username": "gracehopper", "password1": "gracehopper1", "password2": "gracehopper1"},
        {"password1": "", "password2": ""},
    ],
)
def test_sign_up_explains_what_is_wrong(client: Client, ada: User, change: dict[str, str]) -> None:
    answer = client.post("/signup/", NEW | change)
    assert answer.status_code == 200
    assert 'role="alert"' in answer.content.decode()
    assert User.objects.count() == 1


def test_sign_up_makes_no_staff_whatever_the_form_says(client: Client, db: None) -> None:
    client.post("/signup/", NEW | {"is_staff": "on", "is_superuser": "on"})
    user = User.objects.get()
    assert not (user.is_staff or user.is_superuser)


def test_sign_up_switched_off_is_not_there_and_not_offered(
    client: Client, db: None, settings: Settings
) -> None:
    assert "/signup/" in client.get("/login/").content.decode()
    settings.COPILOT_ALLOW_SIGNUP = False
    assert client.get("/signup/").status_code == 404
    assert client.post("/signup/", NEW).status_code == 404
    assert not User.objects.exists()
    assert "/signup/" not in client.get("/login/").content.decode()


@pytest.mark.django_db(transaction=True)
def test_of_many_sign_ups_with_one_name_exactly_one_gets_it() -> None:
    def attempt() -> int:
        return Client().post("/signup/", NEW).status_code

    assert sorted(race(attempt, 6)) == [200] * 5 + [302]
    assert User.objects.count() == 1


def test_one_address_cannot_make_accounts_without_end(db: None) -> None:
    for number in range(SIGNUPS_PER_ADDRESS):
        assert Client().post("/signup/", NEW | {"username": f"user{number}"}).status_code == 302
    refused = Client().post("/signup/", NEW | {"username": "more"})
    assert refused.status_code == 429
    assert "Retry-After" in refused.headers
    assert not User.objects.filter(username="more").exists()


def test_one_address_cannot_ask_for_names_without_end(ada: User) -> None:
    for _ in range(SIGNUP_FORMS_PER_ADDRESS):
        assert Client().post("/signup/", NEW | {"username": "ada"}).status_code == 200
    assert Client().post("/signup/", NEW | {"username": "ada"}).status_code == 429
    assert Client(REMOTE_ADDR="10.1.0.1").post("/signup/", NEW | {"username": "ada"}).status_code == 200


def test_a_session_does_not_let_one_guess_its_password(client: Client, ada: User) -> None:
    client.force_login(ada)
    new = "an even better password"
    wrong = {"old_password": "wrong", "new_password1": new, "new_password2": new}
    codes = [client.post("/password/", wrong).status_code for _ in range(WRONG_LOGINS_PER_ADDRESS + 1)]
    assert codes == [200] * WRONG_LOGINS_PER_ADDRESS + [429]
    assert client.post("/password/", wrong | {"old_password": PASSWORD}).status_code == 429
    assert log_in(Client()).status_code == 302


def test_changing_the_password_keeps_this_login_and_ends_the_others(ada: User) -> None:
    here, there = Client(), Client()
    log_in(here)
    log_in(there)
    new = "an even better password"
    form = {"old_password": PASSWORD, "new_password1": new, "new_password2": new}
    assert here.post("/password/", form)["Location"] == "/password/changed/"
    assert here.get("/password/changed/").status_code == 200
    assert here.get("/api/me").status_code == 200
    assert there.get("/api/me").status_code == 401
    assert log_in(Client(), "ada", PASSWORD).status_code == 200
    assert log_in(Client(), "ada", new).status_code == 302


def test_changing_the_password_needs_the_old_one_and_a_login(client: Client, ada: User) -> None:
    assert client.get("/password/")["Location"] == "/login/?next=/password/"
    log_in(client)
    new = "an even better password"
    wrong = {"old_password": "wrong", "new_password1": new, "new_password2": new}
    assert client.post("/password/", wrong).status_code == 200
    assert log_in(Client()).status_code == 302


def test_who_never_had_a_password_can_choose_one(client: Client, db: None) -> None:
    client.force_login(User.objects.create_user("demo"))
    assert "Choose a password" in client.get("/password/").content.decode()
    client.post("/password/", {"new_password1": PASSWORD, "new_password2": PASSWORD})
    assert log_in(Client(), "demo").status_code == 302


def test_pages_have_no_inline_script_or_style_and_are_labelled(client: Client, ada: User) -> None:
    pages = [
        client.get("/login/"),
        client.get("/signup/"),
        client.get("/login/once/x/"),
        client.get("/nowhere"),
    ]
    client.force_login(ada)
    pages.append(client.get("/password/"))
    for page in pages:
        text = page.content.decode()
        assert not re.search(r"<script(?![^>]*\ssrc=)", text), "only scripts of files"
        assert "<style" not in text
        assert not re.search(r'\s(style|on\w+)="', text)
        assert '<html lang="en">' in text
        assert len(re.findall("<h1>", text)) == 1
        shown = re.findall(r'<input type="(?:text|password|email)"[^>]*id="([^"]+)"', text)
        assert all(f'<label for="{name}"' in text for name in shown)
    assert client.get("/static/site/site.css").status_code == 200
    assert client.get("/static/site/icon.svg").status_code == 200


def test_the_admins_door_is_the_sites_door(client: Client, ada: User) -> None:
    assert client.get("/admin/login/")["Location"] == "/login/?next=%2Fadmin%2F"
    assert client.post("/admin/login/", {"username": "ada", "password": PASSWORD}).status_code == 302
    assert client.get("/api/me").status_code == 401
    log_in(client)
    assert client.get("/admin/", follow=True).status_code == 403
    User.objects.update(is_staff=True)
    assert client.get("/admin/").status_code == 200


def test_a_foreign_host_header_answers_400(client: Client, db: None) -> None:
    assert client.get("/login/", HTTP_HOST="evil.com").status_code == 400
    answer = client.get("/api/me", HTTP_HOST="evil.com")
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "bad_request"
    assert b"evil.com" not in answer.content


def test_session_and_csrf_cookies_carry_their_flags(client: Client, ada: User) -> None:
    cookie = log_in(client).cookies["sessionid"]
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "Lax", "/")
