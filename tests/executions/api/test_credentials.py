"""/api/credentials: what may be kept, changed and seen."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from executions import limits
from executions.credentials.secrets import ApiKeySecret, HeadersSecret, PasswordSecret, open_secret
from executions.models import StoredCredential

URL = "/api/credentials"
KEY = {"provider": "openai", "kind": "api_key", "api_key": "canary-key"}
LOGIN = {
    "provider": "smtp",
    "kind": "user_password",
    "username": "ann",
    "password": " canary pass ",
    "host": "Mail.Example.com.",
}
HEADERS = {
    "provider": "http",
    "kind": "host_scoped",
    "host": "API.Example.com",
    "headers": {"X-Key": "canary-header"},
}


def post(client: Client, body: dict[str, Any]) -> Any:
    return client.post(URL, body, content_type="application/json")


def kept(answer: Any) -> StoredCredential:
    assert answer.status_code == 201, answer.json()
    return StoredCredential.objects.get(pk=answer.json()["id"])


def test_each_kind_is_kept_sealed_and_answered_without_its_secret(as_ada: Client) -> None:
    for body, secret in (
        (KEY, ApiKeySecret(api_key="canary-key")),
        (LOGIN, PasswordSecret(username="ann", password=" canary pass ")),
        (HEADERS, HeadersSecret(headers={"X-Key": "canary-header"})),
    ):
        answer = post(as_ada, body)
        row = kept(answer)
        assert open_secret(row) == secret
        assert "canary" not in row.secret
        assert "canary" not in answer.content.decode() + as_ada.get(f"{URL}/{row.pk}").content.decode()
    assert "canary" not in as_ada.get(URL).content.decode()
    assert as_ada.get(URL).json()["results"][0]["host"] == "api.example.com"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (KEY | {"api_key": ""}, "api_key"),
        ({"provider": "openai", "kind": "api_key"}, "api_key"),
        (KEY | {"password": "x"}, "password"),
        (KEY | {"kind": "magic"}, "kind"),
        (KEY | {"kind": "oauth2"}, "kind"),
        (KEY | {"provider": "Not A Name"}, "provider"),
        (KEY | {"api_key": "x" * (limits.MAX_SECRET_CHARACTERS + 1)}, "api_key"),
        (LOGIN | {"headers": {}}, "headers"),
        ({"provider": "smtp", "kind": "user_password", "username": "ann"}, "password"),
    ],
)
def test_what_does_not_fit_its_kind_is_refused_by_field(
    as_ada: Client, body: dict[str, Any], field: str
) -> None:
    answer = post(as_ada, body)
    assert answer.status_code == 400
    assert field in answer.json()["error"]["fields"]
    assert not StoredCredential.objects.exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"host": ""}, "Enter it as `host`"),
        ({"host": "https://api.example.com"}, "is not a host"),
        ({"host": "api.example.com:8443"}, "is not a host"),
        ({"host": "api.example.com/path"}, "is not a host"),
        ({"host": "a@b.example"}, "is not a host"),
        ({"host": "*.com"}, "hosts of many owners"),
        ({"host": "*.co.uk"}, "hosts of many owners"),
        ({"host": "*.github.io"}, "hosts of many owners"),
        ({"host": "*.192.0.2.1"}, "hosts of many owners"),
        ({"ca_certificate": "x"}, "Only a login can have"),
        ({"host": "*"}, "is not a host"),
        ({"host": "a.*.example"}, "is not a host"),
        ({"headers": {}}, "at least one header"),
        ({"headers": {"Host": "evil.example"}}, "cannot be set"),
        ({"headers": {"X-Key": "two\r\nlines"}}, "characters that cannot be sent"),
        ({"headers": {"Ключ": "x"}}, "characters that cannot be sent"),
    ],
)
def test_headers_and_hosts_that_cannot_be_sent_are_refused(
    as_ada: Client, change: dict[str, Any], words: str
) -> None:
    answer = post(as_ada, HEADERS | change)
    assert answer.status_code == 400
    assert words in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"host": ""}, "A login is only sent to one server. Enter it as `host`"),
        ({"host": "*.example.com"}, "is not a host"),
        ({"host": "a.example.com,b.example.com"}, "is not a host"),
        ({"host": "/var/run/postgresql"}, "is not a host"),
        ({"host": "mail.example.com:25"}, "is not a host"),
        ({"host": "https://mail.example.com"}, "is not a host"),
        ({"host": "mail.example.com#evil.example"}, "is not a host"),
        ({"host": "me@mail.example.com"}, "is not a host"),
        ({"provider": "imap"}, "Enter the port of"),
        ({"ca_certificate": "trust me"}, "is not a certificate"),
        (
            {"ca_certificate": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"},
            "not a certificate",
        ),
    ],
)
def test_a_login_needs_one_server(as_ada: Client, change: dict[str, Any], words: str) -> None:
    answer = post(as_ada, LOGIN | change)
    assert answer.status_code == 400
    assert words in answer.json()["error"]["message"]
    assert not StoredCredential.objects.exists()


@pytest.mark.parametrize("port", [0, 65536, "x"])
def test_a_port_is_a_number_that_ports_have(as_ada: Client, port: Any) -> None:
    answer = post(as_ada, LOGIN | {"port": port})
    assert answer.status_code == 400 and "port" in answer.json()["error"]["fields"]


@pytest.mark.parametrize(("provider", "port"), [("smtp", 587), ("database", 5432)])
def test_a_login_gets_the_usual_port_unless_another_is_given(
    as_ada: Client, provider: str, port: int
) -> None:
    shown = post(as_ada, LOGIN | {"provider": provider}).json()
    assert (shown["host"], shown["port"]) == ("mail.example.com", port)
    assert post(as_ada, LOGIN | {"provider": provider, "port": 2525}).json()["port"] == 2525


def test_a_login_without_a_server_can_be_bound_and_says_so_until_then(as_ada: Client) -> None:
    row = kept(post(as_ada, LOGIN))
    StoredCredential.objects.update(host="", port=None)
    url = f"{URL}/{row.pk}"
    assert as_ada.get(url).json()["status"] == "host_needed"
    assert as_ada.patch(url, {"title": "x"}, content_type="application/json").status_code == 200
    answer = as_ada.patch(url, {"host": "mail.example.com"}, content_type="application/json").json()
    assert (answer["host"], answer["port"], answer["status"]) == ("mail.example.com", 587, "ok")


@pytest.mark.parametrize(
    "change", [{"host": "evil.example"}, {"port": 25}, {"host": "evil.example", "port": 1}]
)
def test_a_kept_secret_goes_to_another_server_only_when_it_is_given_again(
    as_ada: Client, change: dict[str, Any]
) -> None:
    row = kept(post(as_ada, LOGIN))
    url = f"{URL}/{row.pk}"
    refused = as_ada.patch(url, change, content_type="application/json")
    assert refused.status_code == 400
    assert "Enter the secret again together with the new server" in refused.json()["error"]["message"]
    row.refresh_from_db()
    assert (row.host, row.port) == ("mail.example.com", 587)
    again = change | {"username": "ann", "password": "new"}
    assert as_ada.patch(url, again, content_type="application/json").status_code == 200
    row.refresh_from_db()
    assert open_secret(row) == PasswordSecret(username="ann", password="new")
    assert (row.host, row.port) == (change.get("host", "mail.example.com"), change.get("port", 587))


def test_title_host_and_secret_can_be_changed(as_ada: Client) -> None:
    row = kept(post(as_ada, HEADERS | {"expires_at": "2030-01-01T00:00:00Z"}))
    url = f"{URL}/{row.pk}"
    answer = as_ada.patch(url, {"title": "Mine", "host": "api.example.com."}, content_type="application/json")
    assert (answer.json()["title"], answer.json()["host"]) == ("Mine", "api.example.com")
    row.refresh_from_db()
    assert open_secret(row) == HeadersSecret(headers={"X-Key": "canary-header"})
    assert row.expires_at == datetime(2030, 1, 1, tzinfo=UTC)
    fresh = {"headers": {"X-Key": "another"}, "host": "*.Example.com", "port": 8443}
    changed = as_ada.patch(url, fresh, content_type="application/json").json()
    assert (changed["expires_at"], changed["host"], changed["port"]) == (None, "*.example.com", 8443)
    row.refresh_from_db()
    assert open_secret(row) == HeadersSecret(headers={"X-Key": "another"})
    wrong = as_ada.patch(url, {"api_key": "x"}, content_type="application/json")
    assert wrong.status_code == 400 and "api_key" in wrong.json()["error"]["fields"]


def test_the_tokens_of_a_sign_in_cannot_be_set_by_hand(as_ada: Client, ada: User) -> None:
    row = StoredCredential.objects.create(user=ada, provider="acme", kind="oauth2", secret="sealed")
    answer = as_ada.patch(f"{URL}/{row.pk}", {"api_key": "x"}, content_type="application/json")
    assert answer.status_code == 400 and "Sign in again" in answer.json()["error"]["message"]
    assert as_ada.patch(f"{URL}/{row.pk}", {"title": "A"}, content_type="application/json").status_code == 200


def test_whether_it_can_be_used_is_shown(as_ada: Client, ada: User) -> None:
    past, now = datetime.now(UTC) - timedelta(days=1), datetime.now(UTC)
    rows = {
        "expired": {"kind": "api_key", "expires_at": past},
        "ok": {"kind": "oauth2", "expires_at": past},
        "sign_in_again": {"kind": "oauth2", "signed_out_at": now},
    }
    for status, values in rows.items():
        row = StoredCredential.objects.create(user=ada, provider="p", secret="s", **values)
        assert as_ada.get(f"{URL}/{row.pk}").json()["status"] == status


def test_nobody_else_sees_changes_or_deletes_it(as_ada: Client, bob: User) -> None:
    url = f"{URL}/{kept(post(as_ada, KEY)).pk}"
    stranger = Client()
    stranger.force_login(bob)
    assert stranger.get(URL).json()["results"] == []
    assert stranger.get(url).status_code == 404
    assert stranger.patch(url, {"title": "x"}, content_type="application/json").status_code == 404
    assert stranger.delete(url).status_code == 404
    assert Client().get(URL).status_code in (401, 403)
    assert as_ada.delete(url).status_code == 204
    assert as_ada.get(url).status_code == 404


def test_there_is_a_last_one_a_person_may_keep(as_ada: Client, ada: User) -> None:
    filler = StoredCredential(user=ada, provider="p", kind="api_key", secret="s")
    StoredCredential.objects.bulk_create(
        StoredCredential(user=filler.user, provider="p", kind="api_key", secret="s")
        for _ in range(limits.MAX_CREDENTIALS_PER_USER)
    )
    answer = post(as_ada, KEY)
    assert answer.status_code == 409 and answer.json()["error"]["code"] == "too_many_credentials"


def test_the_page_that_describes_the_api_shows_secrets_as_write_only(as_ada: Client) -> None:
    schema = as_ada.get("/api/schema/?format=json").json()
    shown = schema["components"]["schemas"]["Credential"]["properties"]
    assert {"api_key", "password", "username", "headers", "secret"}.isdisjoint(shown)
    assert json.dumps(schema).count('"/api/credentials"') == 1
