"""Signing in at a provider: only who left comes back, and nothing of it leaks."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core.checks import run_checks
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from accounts.models import User
from executions.credentials.oauth import authorization
from executions.credentials.secrets import OAuthTokens, open_secret
from executions.models import StoredCredential
from tests.executions.credentials.conftest import Provider, callback_of, come_back, sign_in

pytestmark = pytest.mark.django_db
START = "/api/credentials/oauth/acme/start"


def start(as_ada: Client, **wish: Any) -> str:
    url: str = as_ada.post(START, wish, content_type="application/json").json()["url"]
    return url


def query(url: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}


def test_a_sign_in_is_kept_with_its_tokens_scopes_and_host(as_ada: Client, provider: Provider) -> None:
    answer = sign_in(as_ada, title="My Acme")
    assert answer.status_code == 200, answer.json()
    shown = answer.json()
    assert (shown["title"], shown["kind"], shown["host"]) == ("My Acme", "oauth2", "api.acme.example")
    assert (shown["scopes"], shown["status"]) == (["read", "write"], "ok")
    assert "canary" not in answer.content.decode()
    row = StoredCredential.objects.get()
    tokens = open_secret(row)
    assert isinstance(tokens, OAuthTokens) and tokens.access_token.startswith("canary-access-")
    assert tokens.refresh_token.startswith("canary-refresh-")
    assert row.expires_at is not None and row.expires_at > timezone.now() + timedelta(minutes=50)


def test_the_provider_is_asked_with_pkce_and_our_own_address(
    as_ada: Client, provider: Provider, settings: Settings
) -> None:
    asked = query(start(as_ada, scopes=["read"]))
    assert asked["redirect_uri"] == f"{settings.SITE_URL}/api/credentials/oauth/acme/callback"
    assert (asked["scope"], asked["code_challenge_method"]) == ("read", "S256")
    verifier = authorization.verifier_of(asked["state"])
    assert asked["code_challenge"] == authorization.challenge_of(verifier)
    assert verifier not in asked["state"] and len(verifier) >= 43
    assert len({query(start(as_ada))["state"] for _ in range(3)}) == 3


def test_a_link_leads_straight_to_the_provider(as_ada: Client, provider: Provider) -> None:
    answer = as_ada.get(START, {"next": "/settings?tab=1"})
    assert answer.status_code == 302 and answer["Location"].startswith(f"{provider.url}/authorize?")
    back = come_back(as_ada, answer["Location"])
    kept = StoredCredential.objects.get()
    assert (back.status_code, back["Location"]) == (302, f"/settings?tab=1&credential={kept.pk}")


@pytest.mark.parametrize("path", ["https://evil.example", "//evil.example", "/\\evil.example", "settings"])
def test_it_ends_on_this_site_only(as_ada: Client, provider: Provider, path: str) -> None:
    assert as_ada.post(START, {"next": path}, content_type="application/json").status_code == 400


def test_coming_back_in_another_session_is_refused(
    as_ada: Client, provider: Provider, ada: User, bob: User
) -> None:
    callback = callback_of(start(as_ada))
    for user in (ada, bob):
        other = Client()
        other.force_login(user)
        answer = other.get(callback)
        assert answer.status_code == 400
        assert "another browser session" in answer.json()["error"]["message"]
    assert Client().get(callback).status_code in (401, 403)
    assert not StoredCredential.objects.exists()
    assert provider.seen()["seen"] == [], "a code was traded for a stranger"
    assert as_ada.get(callback).status_code == 200


@pytest.mark.parametrize("state", ["", "nonsense", "é", "a:b:c"])
def test_a_state_that_is_not_ours_is_refused(as_ada: Client, provider: Provider, state: str) -> None:
    answer = as_ada.get("/api/credentials/oauth/acme/callback", {"code": "x", "state": state})
    assert answer.status_code == 400
    assert "not started here" in answer.json()["error"]["message"]


def test_a_state_of_one_provider_is_worth_nothing_for_another(
    as_ada: Client, provider: Provider, settings: Settings
) -> None:
    both = {"acme": provider.config(), "other": provider.config()}
    settings.COPILOT_OAUTH_PROVIDERS = json.dumps(both)
    callback = callback_of(start(as_ada)).replace("/acme/", "/other/")
    assert as_ada.get(callback).status_code == 400


def test_a_sign_in_that_took_too_long_is_refused(
    as_ada: Client, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    callback = callback_of(start(as_ada))
    monkeypatch.setattr("executions.limits.OAUTH_STATE_SECONDS", -1.0)
    assert "took too long" in as_ada.get(callback).json()["error"]["message"]


def test_a_code_is_worth_one_credential(as_ada: Client, provider: Provider) -> None:
    callback = callback_of(start(as_ada))
    assert as_ada.get(callback).status_code == 200
    again = as_ada.get(callback)
    assert again.status_code == 400 and "code is not valid" in again.json()["error"]["message"]
    assert StoredCredential.objects.count() == 1


def test_a_person_who_says_no_is_told_so(as_ada: Client, provider: Provider) -> None:
    state = query(start(as_ada))["state"]
    back = "/api/credentials/oauth/acme/callback"
    answer = as_ada.get(back, {"error": "access_denied", "state": state})
    assert answer.json()["error"]["message"] == "You declined the sign-in."
    state = query(start(as_ada, next="/here"))["state"]
    answer = as_ada.get(back, {"error": "server_error", "error_description": "Oh no", "state": state})
    assert (answer.status_code, answer["Location"]) == (
        302,
        "/here?sign_in_error=The+provider+refused%3A+Oh+no",
    )


@pytest.mark.parametrize("status", [500, 200])
def test_a_provider_that_answers_nonsense_is_a_clear_error(
    as_ada: Client, provider: Provider, status: int
) -> None:
    provider.tell(fail=status)
    answer = sign_in(as_ada)
    assert answer.status_code == 502
    assert f"answered with status {status}" in answer.json()["error"]["message"]


def test_a_provider_that_is_away_or_not_allowed_is_a_clear_error(
    as_ada: Client, provider: Provider, settings: Settings
) -> None:
    callback = callback_of(start(as_ada))
    settings.BOUNDARY_ALLOWED_HOSTS = []
    answer = as_ada.get(callback)
    assert answer.status_code == 502 and "could not be reached" in answer.json()["error"]["message"]


@pytest.mark.parametrize("change", [{"client_auth": "basic"}, {"authorize_params": {"prompt": "consent"}}])
def test_providers_differ_and_all_work(
    as_ada: Client, provider: Provider, settings: Settings, change: dict[str, Any]
) -> None:
    settings.COPILOT_OAUTH_PROVIDERS = json.dumps({"acme": provider.config(**change)})
    provider.tell(as_form=True)
    assert sign_in(as_ada).status_code == 200


def test_signing_in_again_renews_the_same_credential(as_ada: Client, provider: Provider) -> None:
    first = sign_in(as_ada).json()
    StoredCredential.objects.update(signed_out_at=timezone.now(), title="Kept title")
    again = sign_in(as_ada, credential_id=first["id"]).json()
    assert (again["id"], again["status"], again["title"]) == (first["id"], "ok", "Kept title")
    assert StoredCredential.objects.count() == 1


def test_signing_in_for_a_strangers_credential_makes_one_of_ones_own(
    as_ada: Client, provider: Provider, bob: User
) -> None:
    theirs = StoredCredential.objects.create(user=bob, provider="acme", kind="oauth2", secret="theirs")
    mine = sign_in(as_ada, credential_id=str(theirs.pk)).json()
    theirs.refresh_from_db()
    assert theirs.secret == "theirs" and mine["id"] != str(theirs.pk)


def test_an_api_key_has_no_session_to_come_back_to(provider: Provider, ada: User) -> None:
    from accounts.api_keys import create_api_key

    headers = {"Authorization": f"Bearer {create_api_key(ada, 'x')}"}
    assert Client().post(START, headers=headers).status_code in (401, 403)


def test_starting_needs_a_csrf_token(provider: Provider, ada: User) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(ada)
    assert strict.post(START, {}, content_type="application/json").status_code == 403


def test_an_unknown_provider_is_not_found(as_ada: Client, provider: Provider) -> None:
    assert as_ada.get("/api/credentials/oauth/nobody/start").status_code == 404
    names = [row["name"] for row in as_ada.get("/api/credentials/providers").json()["results"]]
    assert names == ["acme"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "value: Invalid JSON"),
        ("[]", "value"),
        ('{"Bad Name": {}}', "Bad Name"),
        ('{"acme": {"client_secret": "canary", "client_id": 7}}', "acme.authorize_url: Field required"),
        ('{"acme": {"secret": "canary"}}', "acme.secret: Extra inputs are not permitted"),
    ],
)
def test_a_wrong_configuration_is_named_without_its_values(settings: Settings, text: str, words: str) -> None:
    settings.COPILOT_OAUTH_PROVIDERS = text
    [problem] = run_checks(tags=["credentials"])
    assert words in problem.msg and "canary" not in problem.msg
