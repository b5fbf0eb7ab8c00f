"""Which credential a block gets, and which it never gets."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from accounts.models import User
from blocks.catalog.send_email import send_email
from blocks.errors import BlockFailed, CredentialsMissing
from blocks.ports import CredentialUnbound
from blocks.run import run_block
from boundary.destinations import Destination, read_destination
from executions.credentials.actions import NewCredential, add_credential
from executions.credentials.errors import BoundElsewhere, CredentialExpired, NotEncrypted, SecretUnreadable
from executions.credentials.lookup import StoredCredentials
from executions.credentials.secrets import ApiKeySecret, HeadersSecret, OAuthTokens, PasswordSecret, Secret
from executions.models import StoredCredential
from tests.blocks.doubles import make_context, make_ports

KINDS: dict[type[Secret], str] = {
    ApiKeySecret: "api_key",
    PasswordSecret: "user_password",
    HeadersSecret: "host_scoped",
    OAuthTokens: "oauth2",
}


def give(user: User, provider: str, secret: Secret, **more: Any) -> StoredCredential:
    return add_credential(
        user, NewCredential(provider=provider, kind=KINDS[type(secret)], secret=secret, **more)
    )


def login(
    user: User, provider: str = "smtp", host: str = "mail.example.com", **more: Any
) -> StoredCredential:
    return give(user, provider, PasswordSecret(username="ann", password="canary"), host=host, **more)


def find(
    user: User, provider: str, *, host: str = "", port: int = 443, tls: bool = True, credentials_id: str = ""
) -> Any:
    destination = replace(read_destination(host, port), tls=tls) if host else None
    return StoredCredentials(user.pk).find(provider, credentials_id=credentials_id, destination=destination)


def unbound_login(user: User, provider: str = "smtp") -> StoredCredential:
    """A login from before logins had a server."""
    row = login(user, provider, title="Old mail")
    StoredCredential.objects.filter(pk=row.pk).update(host="", port=None)
    return row


# --- logins -------------------------------------------------------------------------------------


def test_a_login_is_found_for_its_server_and_only_by_its_owner(ada: User, bob: User) -> None:
    row = login(ada)
    found = find(ada, "smtp", host="mail.example.com", port=587)
    assert (found.id, found.username, found.password, found.api_key) == (str(row.pk), "ann", "canary", "")
    assert "canary" not in repr(found)
    assert find(ada, "database", host="mail.example.com", port=587) is None
    assert find(bob, "smtp", host="mail.example.com", port=587) is None
    assert find(bob, "smtp", host="mail.example.com", port=587, credentials_id=str(row.pk)) is None


@pytest.mark.parametrize(
    "host",
    ["MAIL.Example.COM", "mail.example.com.", " mail.example.com ", "\uff4d\uff41\uff49\uff4c.example.com"],
)
def test_names_of_servers_are_compared_normalised(ada: User, host: str) -> None:
    login(ada)
    assert find(ada, "smtp", host=host, port=587).username == "ann"


@pytest.mark.parametrize(
    ("host", "port", "sentence"),
    [
        ("evil.example", 587, "None of your smtp logins is for evil.example:587"),
        ("mail.example.com.evil.example", 587, "None of your smtp logins"),
        ("sub.mail.example.com", 587, "None of your smtp logins"),
        ("mail.example.com", 25, "is for port 587 of mail.example.com, not for port 25"),
        ("203.0.113.7", 587, "None of your smtp logins"),
    ],
)
def test_a_login_is_sent_to_no_server_that_its_owner_did_not_name(
    ada: User, host: str, port: int, sentence: str
) -> None:
    row = login(ada)
    with pytest.raises(BoundElsewhere, match=sentence):
        find(ada, "smtp", host=host, port=port)
    with pytest.raises(BoundElsewhere):
        find(ada, "smtp", host=host, port=port, credentials_id=str(row.pk))


def test_a_login_is_not_handed_to_a_block_that_does_not_say_where_it_sends(ada: User) -> None:
    row = login(ada)
    assert find(ada, "smtp") is None
    with pytest.raises(BoundElsewhere, match="does not name the server"):
        find(ada, "smtp", credentials_id=str(row.pk))


def test_a_login_without_a_server_is_sent_nowhere_and_says_where_to_bind_it(ada: User) -> None:
    row = unbound_login(ada)
    for chosen in ("", str(row.pk)):
        with pytest.raises(
            CredentialUnbound, match=r"Old mail is not bound to a server yet.* Open credentials"
        ):
            find(ada, "smtp", host="mail.example.com", port=587, credentials_id=chosen)
    with pytest.raises(CredentialUnbound):
        find(ada, "smtp", credentials_id=str(row.pk))


def test_binding_happens_once_and_only_to_ones_own(ada: User, bob: User) -> None:
    row = unbound_login(ada)
    first, second = (Destination(host=host, port=587) for host in ("mail.example.com", "evil.example"))
    StoredCredentials(bob.pk).bind(str(row.pk), second)
    StoredCredentials(ada.pk).bind(str(row.pk), first)
    StoredCredentials(ada.pk).bind(str(row.pk), second)
    row.refresh_from_db()
    assert (row.host, row.port) == ("mail.example.com", 587)


# --- keys and headers ---------------------------------------------------------------------------


def test_the_newest_of_a_provider_is_taken_and_a_chosen_one_before_it(ada: User) -> None:
    older, newer = (give(ada, "openai", ApiKeySecret(api_key=key)) for key in ("old", "new"))
    assert find(ada, "openai").api_key == "new"
    assert find(ada, "openai", credentials_id=str(older.pk)).api_key == "old"
    newer.delete()
    assert find(ada, "openai").api_key == "old"


@pytest.mark.parametrize("unknown", [str(uuid.uuid4()), "nonsense", "é" * 300])
def test_one_that_is_gone_is_not_replaced_by_another(ada: User, unknown: str) -> None:
    login(ada)
    assert find(ada, "smtp", host="mail.example.com", port=587, credentials_id=unknown) is None


def test_a_chosen_one_of_another_provider_is_not_handed_over(ada: User) -> None:
    row = give(ada, "openai", ApiKeySecret(api_key="canary"))
    assert find(ada, "smtp", credentials_id=str(row.pk)) is None


@pytest.mark.parametrize(
    ("pattern", "host", "given"),
    [
        ("api.example.com", "api.example.com", True),
        ("api.example.com", "API.example.com.", True),
        ("api.example.com", "example.com", False),
        ("api.example.com", "evil-api.example.com", False),
        ("api.example.com", "api.example.com.evil.com", False),
        ("*.example.com", "api.example.com", True),
        ("*.example.com", "a.b.example.com", True),
        ("*.example.com", "example.com", False),
        ("*.example.com", "evilexample.com", False),
        ("*.example.com", "example.com.evil.com", False),
        ("*.example.co.uk", "api.example.co.uk", True),
        ("*.mine.github.io", "www.mine.github.io", True),
        ("192.0.2.1", "192.0.2.1", True),
        ("[2001:DB8::1]", "2001:db8:0::1", True),
        ("bücher.example", "xn--bcher-kva.example", True),
    ],
)
def test_headers_travel_to_their_host_alone(ada: User, pattern: str, host: str, given: bool) -> None:
    row = give(ada, "http", HeadersSecret(headers={"X-Key": "canary"}), host=pattern)
    assert (find(ada, "http", host=host) is not None) is given
    if given:
        assert find(ada, "http", credentials_id=str(row.pk), host=host) is not None
    else:
        with pytest.raises(BoundElsewhere, match="is bound to another server than"):
            find(ada, "http", credentials_id=str(row.pk), host=host)


@pytest.mark.parametrize("pattern", ["*.co.uk", "*.github.io", "*.com"])
def test_a_wildcard_of_old_that_strangers_can_register_below_matches_nothing(ada: User, pattern: str) -> None:
    row = give(ada, "http", HeadersSecret(headers={"X-Key": "canary"}), host="api.example.com")
    StoredCredential.objects.filter(pk=row.pk).update(host=pattern)
    assert find(ada, "http", host=f"evil.{pattern.removeprefix('*.')}") is None


def test_headers_travel_to_the_given_port_alone(ada: User) -> None:
    give(ada, "http", HeadersSecret(headers={"X-Key": "web"}), host="api.example.com")
    give(ada, "http", HeadersSecret(headers={"X-Key": "other"}), host="api.example.com", port=8443)
    assert find(ada, "http", host="api.example.com").headers == {"X-Key": "web"}
    assert find(ada, "http", host="api.example.com", port=8443).headers == {"X-Key": "other"}
    assert find(ada, "http", host="api.example.com", port=8080) is None


def test_headers_travel_over_https_alone(ada: User, settings: Settings) -> None:
    row = give(ada, "http", HeadersSecret(headers={"X-Key": "canary"}), host="api.example.com")
    plain: dict[str, Any] = {"host": "api.example.com", "port": 80, "tls": False}
    with pytest.raises(NotEncrypted, match=r"over https\. Use an https"):
        find(ada, "http", **plain)
    with pytest.raises(NotEncrypted, match=r"over https\. Use"):
        find(ada, "http", credentials_id=str(row.pk), **plain)
    assert find(ada, "http", host="other.example.com", port=80, tls=False) is None
    settings.BOUNDARY_PLAINTEXT_HOSTS = ["api.example.com:80"]
    assert find(ada, "http", **plain) is None  # it is bound to port 443
    StoredCredential.objects.update(port=80)
    assert find(ada, "http", **plain).headers == {"X-Key": "canary"}


def test_the_one_for_exactly_that_host_goes_before_the_one_for_many(ada: User) -> None:
    give(ada, "http", HeadersSecret(headers={"X": "exact"}), host="api.example.com")
    give(ada, "http", HeadersSecret(headers={"X": "many"}), host="*.example.com")
    assert find(ada, "http", host="api.example.com").headers == {"X": "exact"}
    assert find(ada, "http", host="www.example.com").headers == {"X": "many"}


def test_a_key_without_a_host_leaves_for_none(ada: User) -> None:
    row = give(ada, "mcp", ApiKeySecret(api_key="canary"))
    assert find(ada, "mcp", host="mcp.example.com") is None
    with pytest.raises(CredentialUnbound):
        find(ada, "mcp", host="mcp.example.com", credentials_id=str(row.pk))
    assert find(ada, "mcp").api_key == "canary"  # the block knows its own server


def test_a_key_kept_for_a_host_serves_web_requests_there(ada: User) -> None:
    give(ada, "acme", ApiKeySecret(api_key="canary"), host="api.acme.example")
    found = find(ada, "http", host="api.acme.example")
    assert found.headers == {"Authorization": "Bearer canary"}
    assert find(ada, "acme") is None  # nobody said where it would go
    assert find(ada, "http", host="other.example") is None


def test_an_expired_one_says_so(ada: User) -> None:
    yesterday = datetime.now(UTC) - timedelta(days=1)
    give(ada, "openai", ApiKeySecret(api_key="x"), title="Work key", expires_at=yesterday)
    with pytest.raises(CredentialExpired, match=r"Work key expired on .* Replace it under"):
        find(ada, "openai")


def test_a_secret_sealed_with_a_lost_key_is_a_clear_error(ada: User, settings: Settings) -> None:
    give(ada, "openai", ApiKeySecret(api_key="x"), title="Work key")
    settings.ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    with pytest.raises(SecretUnreadable, match="Work key cannot be read with this site's keys"):
        find(ada, "openai")


def test_its_use_is_noted_once_a_minute_at_most(ada: User) -> None:
    row = give(ada, "openai", ApiKeySecret(api_key="x"))
    find(ada, "openai")
    row.refresh_from_db()
    first = row.used_at
    assert first is not None
    with CaptureQueriesContext(connection) as queries:
        find(ada, "openai")
    assert not [query for query in queries if query["sql"].startswith("UPDATE")]
    StoredCredential.objects.update(used_at=first - timedelta(seconds=61))
    find(ada, "openai")
    row.refresh_from_db()
    assert row.used_at is not None and row.used_at >= first


def test_a_block_whose_credential_was_deleted_says_what_is_missing(ada: User) -> None:
    row = login(ada)
    chosen = {"credentials": {"id": str(row.pk), "provider": "smtp", "type": "user_password"}}
    mail = {
        "to_email": "bob@example.com",
        "subject": "Hi",
        "body": "Hello",
        "config": {"smtp_server": "mail.example.com", "smtp_port": 587},
    } | chosen
    ports = replace(make_ports(), credentials=StoredCredentials(ada.pk))
    assert dict(run_block(send_email, mail, make_context(ports=ports))) != {}
    row.delete()
    with pytest.raises(CredentialsMissing, match=r"needs a credential for smtp\. Add one under Credentials"):
        list(run_block(send_email, mail, make_context(ports=ports)))


def test_a_credential_that_cannot_be_used_fails_the_node_with_its_sentence(ada: User) -> None:
    past = datetime.now(UTC) - timedelta(days=1)
    row = login(ada, host="m.example.com", title="Mail", expires_at=past)
    ports = replace(make_ports(), credentials=StoredCredentials(ada.pk))
    mail = {"to_email": "b@example.com", "config": {"smtp_server": "m.example.com", "smtp_port": 587}}
    mail |= {"subject": "Hi", "body": "x", "credentials": {"id": str(row.pk)}}
    with pytest.raises(BlockFailed, match="Mail expired on") as caught:
        list(run_block(send_email, mail, make_context(ports=ports)))
    assert "canary" not in repr(caught.value)
