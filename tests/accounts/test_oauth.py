"""Sign-in of programs: PKCE, codes that work once, rotated refresh tokens, redirects, and attacks on them."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import ApiKey, OAuthGrant, OAuthToken, User
from accounts.oauth import clients, grants
from accounts.oauth.errors import BadRedirect, UnknownClient
from accounts.oauth.grants import challenge_of, key_of_token

VERIFIER = "v" * 43
BACK = "http://127.0.0.1:7777/back"


@pytest.fixture
def ann(db: None) -> User:
    return User.objects.create_user("ann", password="a good password")


@pytest.fixture
def visitor(ann: User) -> Client:
    visitor = Client()
    visitor.force_login(ann)
    return visitor


@pytest.fixture
def client_id(db: None) -> str:
    body = {"client_name": "Claude <b>", "redirect_uris": [BACK]}
    made = Client().post("/oauth/register", body, content_type="application/json")
    assert made.status_code == 201, made.content
    return str(made.json()["client_id"])


def asked(client_id: str, /, **changes: str) -> dict[str, str]:
    return {
        "client_id": client_id,
        "redirect_uri": BACK,
        "response_type": "code",
        "code_challenge": challenge_of(VERIFIER),
        "code_challenge_method": "S256",
        "state": "kept",
    } | changes


def consent(visitor: Client, client_id: str, answer: str = "allow", **changes: str) -> dict[str, str]:
    done = visitor.post(f"/oauth/authorize?{urlencode(asked(client_id, **changes))}", {"answer": answer})
    assert done.status_code == 303, done.content
    assert done["Location"].startswith(changes.get("redirect_uri", BACK))
    return {name: values[0] for name, values in parse_qs(urlsplit(done["Location"]).query).items()}


def exchange(client_id: str, code: str, /, **changes: str) -> Any:
    said = {
        "grant_type": "authorization_code",
        "client_id": client_id,
        "code": code,
        "code_verifier": VERIFIER,
        "redirect_uri": BACK,
    }
    return Client().post("/oauth/token", said | changes)


def renew(client_id: str, token: str) -> Any:
    said = {"grant_type": "refresh_token", "client_id": client_id, "refresh_token": token}
    return Client().post("/oauth/token", said)


def test_consent_leads_to_tokens_that_open_the_door(visitor: Client, client_id: str, ann: User) -> None:
    page = visitor.get("/oauth/authorize", asked(client_id))
    assert b"Claude &lt;b&gt;" in page.content
    assert "form-action 'self' http://127.0.0.1:7777" in page["Content-Security-Policy"]
    back = consent(visitor, client_id)
    assert (back["state"], back["iss"].startswith("http")) == ("kept", True)
    tokens = exchange(client_id, back["code"]).json()
    key = key_of_token(tokens["access_token"])
    assert key is not None and key.user == ann
    stored = set(OAuthToken.objects.values_list("token_hash", flat=True))
    assert not stored & {tokens["access_token"], tokens["refresh_token"]}
    assert visitor.get("/api/keys").json()["results"] == []


def test_page_speaks_german_to_those_who_ask_for_it(visitor: Client, client_id: str) -> None:
    page = visitor.get("/oauth/authorize", asked(client_id), headers={"Accept-Language": "de-DE,en;q=0.5"})
    assert "Zugriff erlauben?" in page.content.decode()


def test_person_who_does_not_allow_it_sends_an_error_back(visitor: Client, client_id: str) -> None:
    assert consent(visitor, client_id, "deny")["error"] == "access_denied"
    assert not OAuthGrant.objects.exists()


def test_visitor_is_asked_to_log_in_first(client_id: str) -> None:
    page = Client().get("/oauth/authorize", asked(client_id))
    assert page.status_code == 302 and page["Location"].startswith("/login/")


def test_consent_needs_the_csrf_token(ann: User, client_id: str) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(ann)
    forged = strict.post(f"/oauth/authorize?{urlencode(asked(client_id))}", {"answer": "allow"})
    assert forged.status_code == 403
    assert not OAuthGrant.objects.exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"code_challenge_method": "plain"},
        {"code_challenge": ""},
        {"response_type": "token"},
        {"resource": "https://other.example/mcp"},
        {"client_id": "client-unknown"},
        {"redirect_uri": "https://evil.example/back"},
        {"redirect_uri": "http://127.0.0.1:7777/other"},
        {"redirect_uri": "http://127.0.0.1@evil.example/back"},
        {"state": "x" * 3000},
    ],
)
def test_bad_request_is_shown_here_and_sent_nowhere(
    visitor: Client, client_id: str, changes: dict[str, str]
) -> None:
    page = visitor.get("/oauth/authorize", asked(client_id, **changes))
    assert page.status_code == 400
    assert "Location" not in page.headers
    assert re.search(rb'role="alert"', page.content)


def test_program_on_the_same_machine_may_use_any_port(visitor: Client, client_id: str) -> None:
    assert consent(visitor, client_id, redirect_uri="http://127.0.0.1:9999/back")["code"]


def test_code_works_once_and_a_second_use_ends_the_grant(visitor: Client, client_id: str) -> None:
    code = consent(visitor, client_id)["code"]
    access = exchange(client_id, code).json()["access_token"]
    again = exchange(client_id, code)
    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")
    assert key_of_token(access) is None


@pytest.mark.parametrize(
    "changes", [{"code_verifier": "w" * 43}, {"redirect_uri": BACK + "2"}, {"code": "rc_nothing"}]
)
def test_code_of_another_request_is_refused(visitor: Client, client_id: str, changes: dict[str, str]) -> None:
    code = consent(visitor, client_id)["code"]
    assert exchange(client_id, code, **changes).status_code == 400


def test_code_of_another_client_is_refused(visitor: Client, client_id: str) -> None:
    other = clients.register({"redirect_uris": [BACK]}).client_id
    assert exchange(other, consent(visitor, client_id)["code"]).status_code == 400


def test_refresh_token_rotates_and_a_stolen_one_ends_the_grant(visitor: Client, client_id: str) -> None:
    first = exchange(client_id, consent(visitor, client_id)["code"]).json()
    second = renew(client_id, first["refresh_token"]).json()
    assert second["refresh_token"] != first["refresh_token"]
    lost = renew(client_id, first["refresh_token"])
    assert lost.status_code == 200, "the answer to the first may have been lost"
    OAuthToken.objects.filter(kind="refresh").exclude(used_at=None).update(
        used_at=timezone.now() - timedelta(hours=1)
    )
    assert renew(client_id, first["refresh_token"]).status_code == 400
    assert key_of_token(second["access_token"]) is None


def test_expired_and_revoked_tokens_open_nothing(visitor: Client, client_id: str) -> None:
    tokens = exchange(client_id, consent(visitor, client_id)["code"]).json()
    OAuthToken.objects.filter(kind="access").update(expires_at=timezone.now())
    assert key_of_token(tokens["access_token"]) is None
    fresh = renew(client_id, tokens["refresh_token"]).json()["access_token"]
    assert key_of_token(fresh) is not None
    Client().post("/oauth/revoke", {"client_id": client_id, "token": fresh})
    assert key_of_token(fresh) is None
    assert renew(client_id, tokens["refresh_token"]).status_code == 400


def test_grants_are_listed_and_ended_on_the_account_page(visitor: Client, client_id: str) -> None:
    access = exchange(client_id, consent(visitor, client_id)["code"]).json()["access_token"]
    [grant] = visitor.get("/api/grants").json()["results"]
    assert grant["name"] == "Claude <b>"
    stranger = Client()
    stranger.force_login(User.objects.create_user("bob"))
    assert stranger.delete(f"/api/grants/{grant['id']}").status_code == 404
    assert visitor.delete(f"/api/grants/{grant['id']}").status_code == 204
    assert key_of_token(access) is None
    assert visitor.get("/api/grants").json()["results"] == []


def test_access_token_is_no_api_key_of_the_site(visitor: Client, client_id: str) -> None:
    access = exchange(client_id, consent(visitor, client_id)["code"]).json()["access_token"]
    headers = {"Authorization": f"Bearer {access}"}
    assert Client().get("/api/me", headers=headers).status_code == 401
    assert Client().get("/v1/models", headers=headers).status_code == 401
    assert ApiKey.objects.count() == 1


@pytest.mark.parametrize(
    "address",
    [
        "http://evil.example/",
        "javascript:alert(1)",
        "data:text/html,x",
        "https://a;script-src *",
        "https://a b/",
        "https://x/\nSet-Cookie: a",
        "https://user@x/",
        "//x/",
        "https://x/#f",
        "",
        7,
    ],
)
def test_dangerous_redirects_are_not_registered(db: None, address: Any) -> None:
    with pytest.raises(BadRedirect):
        clients.register({"redirect_uris": [address]})


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"redirect_uris": []}', b"x" * 20000])
def test_bad_registrations_are_refused(db: None, body: bytes) -> None:
    refused = Client().post("/oauth/register", body, content_type="application/json")
    assert refused.status_code == 400
    assert refused.json()["error"] in ("invalid_client_metadata", "invalid_redirect_uri")


@pytest.mark.parametrize(
    "address",
    [
        "https://127.0.0.1/client.json",
        "https://169.254.169.254/latest/meta-data",
        "https://[::1]/client.json",
        "https://localhost/client.json",
        "https://x.example/",
        "https://user@x.example/client.json",
    ],
)
def test_description_at_an_inner_address_is_not_fetched(db: None, address: str) -> None:
    with pytest.raises(UnknownClient):
        clients.find_client(address)


def test_metadata_names_the_endpoints(db: None) -> None:
    server = Client().get("/.well-known/oauth-authorization-server").json()
    assert server["code_challenge_methods_supported"] == ["S256"]
    assert server["client_id_metadata_document_supported"] is True
    resource = Client().get("/.well-known/oauth-protected-resource/mcp").json()
    assert resource["authorization_servers"] == [server["issuer"]]
    assert resource["resource"] == f"{server['issuer']}/mcp"


def test_grants_module_hashes_codes(ann: User) -> None:
    client = clients.register({"redirect_uris": [BACK]})
    code = grants.allow(ann, client, challenge=challenge_of(VERIFIER), redirect_uri=BACK)
    assert not OAuthToken.objects.filter(token_hash=code).exists()
