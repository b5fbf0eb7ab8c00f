"""API keys let programs in, and only while they should."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.api_keys import create_api_key, find_key, make_key, revoke_key
from accounts.errors import TooManyKeys
from accounts.limits import MAX_API_KEYS_PER_USER
from accounts.models import ApiKey, User
from durable.ids import new_id
from tests.accounts.conftest import PASSWORD, race


def user_with(key: str) -> User | None:
    found = find_key(key)
    return found.user if found else None


def with_key(key: str) -> APIClient:
    client = APIClient(enforce_csrf_checks=True)
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {key}")
    return client


def test_a_key_has_256_random_bits_and_only_its_hash_is_kept(ada: User) -> None:
    key = create_api_key(ada, "laptop")
    row = ApiKey.objects.get()
    assert key.startswith(f"rk_{row.prefix}_")
    assert len(key.split("_", 2)[2]) == 43
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM accounts_apikey")
        stored = repr(cursor.fetchall())
    assert key.split("_", 2)[2] not in stored
    assert create_api_key(ada, "laptop") != key


def test_find_key_knows_a_good_key_and_notes_its_use_once_a_minute(ada: User) -> None:
    key = create_api_key(ada, "laptop")
    assert user_with(key) == ada
    first = ApiKey.objects.get().last_used_at
    assert first is not None
    find_key(key)
    assert ApiKey.objects.get().last_used_at == first
    ApiKey.objects.update(last_used_at=timezone.now() - timedelta(seconds=61))
    find_key(key)
    renewed = ApiKey.objects.get().last_used_at
    assert renewed is not None
    assert renewed >= first


@pytest.mark.parametrize(
    "key", ["", "rk_", "rk_00000000_" + "a" * 43, "nonsense", "rk_\x00", "rk_\ud800", "x" * 100_000, "rk_é_ü"]
)
def test_find_key_answers_none_to_what_is_no_key(db: None, key: str) -> None:
    assert find_key(key) is None


def test_a_key_with_one_character_changed_is_no_key(ada: User) -> None:
    key = create_api_key(ada, "laptop")
    assert find_key(key[:-1] + ("a" if key[-1] != "a" else "b")) is None
    assert find_key(key + "a") is None


def test_a_revoked_key_lets_nobody_in(ada: User) -> None:
    row, key = make_key(ada, "laptop")
    assert revoke_key(row)
    assert not revoke_key(row)
    assert find_key(key) is None


def test_the_key_of_a_deactivated_user_answers_401(ada: User) -> None:
    key = create_api_key(ada, "laptop")
    assert with_key(key).get("/api/me").status_code == 200
    User.objects.update(is_active=False)
    answer = with_key(key).get("/api/me")
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"].startswith("Bearer")
    assert answer.json()["error"]["code"] == "authentication_failed"


def test_no_credentials_and_bad_credentials_answer_401_alike(db: None) -> None:
    for client in (APIClient(), with_key("nonsense"), with_key("")):
        answer = client.get("/api/me")
        assert answer.status_code == 401
        assert answer["WWW-Authenticate"] == 'Bearer realm="api"'
        assert set(answer.json()["error"]) >= {"code", "message"}


def test_a_bad_key_is_not_saved_by_a_good_cookie(ada: User) -> None:
    client = with_key("nonsense")
    client.force_login(ada)
    assert client.get("/api/me").status_code == 401


def test_a_post_with_a_cookie_needs_the_csrf_token_and_one_with_a_key_does_not(ada: User) -> None:
    browser = APIClient(enforce_csrf_checks=True)
    browser.force_login(ada)
    refused = browser.post("/api/keys", {"name": "x"}, format="json")
    assert refused.status_code == 403
    assert refused.json()["error"]["code"] == "csrf_failed"
    assert not ApiKey.objects.exists()

    token = browser.get("/api/me").cookies["csrftoken"].value
    accepted = browser.post("/api/keys", {"name": "x"}, format="json", HTTP_X_CSRFTOKEN=token)
    assert accepted.status_code == 201

    program = with_key(accepted.json()["key"])
    assert program.post("/api/keys", {"name": "y"}, format="json").status_code == 201


def test_the_key_is_shown_when_it_is_made_and_never_again(ada: User) -> None:
    client = APIClient()
    client.force_authenticate(ada)
    made = client.post("/api/keys", {"name": "laptop"}, format="json")
    assert made.status_code == 201
    assert made["Cache-Control"] == "no-store"
    key = made.json()["key"]
    assert user_with(key) == ada
    listed = client.get("/api/keys").json()
    assert [row["name"] for row in listed["results"]] == ["laptop"]
    assert key.startswith(listed["results"][0]["prefix"])
    assert key not in repr(listed)
    assert "hash" not in listed["results"][0]


@pytest.mark.parametrize(
    "body", [{}, {"name": ""}, {"name": "x" * 101}, {"name": None}, {"name": ["x"]}, [], None]
)
def test_a_key_without_a_proper_name_is_refused(ada: User, body: object) -> None:
    client = APIClient()
    client.force_authenticate(ada)
    answer = client.post("/api/keys", body, format="json")
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "invalid"
    assert not ApiKey.objects.exists()


def test_deleting_a_key_revokes_it_and_another_persons_key_is_not_found(ada: User, bob: User) -> None:
    row, key = make_key(ada, "laptop")
    stranger, owner = APIClient(), APIClient()
    stranger.force_authenticate(bob)
    owner.force_authenticate(ada)
    foreign = stranger.delete(f"/api/keys/{row.pk}")
    missing = stranger.delete(f"/api/keys/{new_id()}")
    assert foreign.status_code == missing.status_code == 404
    assert foreign.content == missing.content
    assert user_with(key) == ada
    assert owner.delete(f"/api/keys/{row.pk}").status_code == 204
    assert owner.delete(f"/api/keys/{row.pk}").status_code == 404
    assert find_key(key) is None
    assert owner.get("/api/keys").json()["results"] == []


def test_the_owner_of_a_new_key_is_who_asks_whatever_the_body_says(ada: User, bob: User) -> None:
    client = APIClient()
    client.force_authenticate(ada)
    client.post("/api/keys", {"name": "x", "user": bob.pk, "user_id": bob.pk, "hash": "0"}, format="json")
    assert ApiKey.objects.get().user == ada


@pytest.mark.django_db(transaction=True)
def test_nobody_gets_more_keys_than_the_limit_even_all_at_once(ada: User) -> None:
    for _ in range(MAX_API_KEYS_PER_USER - 2):
        create_api_key(ada, "x")

    def attempt() -> bool:
        try:
            create_api_key(ada, "x")
        except TooManyKeys:
            return False
        return True

    assert sum(race(attempt, 6)) == 2


def test_the_apikey_command_prints_a_working_key(ada: User, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("apikey", "ada", "--name", "ci")
    assert user_with(capsys.readouterr().out.strip()) == ada
    assert ApiKey.objects.get().name == "ci"


@pytest.mark.parametrize(
    ("name", "args"), [("nobody", []), ("ada", ["--name", ""]), ("ada", ["--name", "x" * 101])]
)
def test_the_apikey_command_explains_what_is_wrong(ada: User, name: str, args: list[str]) -> None:
    with pytest.raises(CommandError):
        call_command("apikey", name, *args)
    assert not ApiKey.objects.exists()


def test_a_session_login_still_works_beside_keys(ada: User) -> None:
    client = APIClient()
    assert client.login(username="ada", password=PASSWORD)
    assert client.get("/api/me").json()["username"] == "ada"


def test_limits_of_a_key_can_be_set_changed_and_not_lifted_by_the_key_itself(ada: User) -> None:
    free = with_key(create_api_key(ada, "free"))
    limits = {"allowed_models": ["copilot"], "requests_per_minute": 5, "day_limit": "1.5"}
    made = free.post("/api/keys", {"name": "limited", **limits}, format="json").json()
    assert (made["allowed_models"], made["requests_per_minute"]) == (["copilot"], 5)
    own = with_key(made["key"])
    assert own.get("/api/me").status_code == 401
    assert own.patch(f"/api/keys/{made['id']}", {"day_limit": None}, format="json").status_code == 401
    changed = free.patch(f"/api/keys/{made['id']}", {"day_limit": "2", "allowed_models": None}, format="json")
    assert changed.json()["allowed_models"] is None
    assert ApiKey.objects.get(pk=made["id"]).day_limit == 2
    for wrong in ({"requests_per_minute": 0}, {"day_limit": "-1"}, {"allowed_models": "copilot"}):
        assert free.patch(f"/api/keys/{made['id']}", wrong, format="json").status_code == 400
