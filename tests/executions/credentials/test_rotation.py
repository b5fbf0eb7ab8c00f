"""Changing the site's keys (SECURITY 96), and what a dump and the logs may hold (SECURITY 95, 97)."""

from __future__ import annotations

import base64
from io import StringIO
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.apps import apps
from django.core import serializers
from django.core.management import CommandError, call_command
from django.test import Client
from pytest_django import Settings

from accounts.models import User
from boundary.policy import Destination
from durable.encryption import seal, unseal
from executions.credentials.lookup import StoredCredentials
from executions.models import Agent, StoredCredential, Trigger
from tests.executions.credentials.conftest import Provider, sign_in
from webhooks.models import WebhookEndpoint

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis_server")]
OLD, NEW, LOST = (Fernet.generate_key().decode() for _ in range(3))

ACME = Destination(host="api.acme.example", port=443)


def rotate() -> str:
    out = StringIO()
    call_command("rotate_credentials", stdout=out)
    return out.getvalue()


@pytest.fixture
def sealed(ada: User, settings: Settings) -> list[Any]:
    """One row of each kind, sealed with the old key."""
    settings.ENCRYPTION_KEYS = [OLD]
    agent = Agent.objects.create(user=ada, name="A")
    return [
        StoredCredential.objects.create(user=ada, provider="p", kind="api_key", secret=seal("canary")),
        Trigger.objects.create(
            user=ada, agent=agent, name="T", token_hash="h", secret=seal("canary"), old_secret=seal("canary")
        ),
        WebhookEndpoint.objects.create(user=ada, url="https://x.example", sealed_secret=seal("canary")),
        Trigger.objects.create(user=ada, agent=agent, name="without", token_hash="i"),
    ]


def test_after_a_rotation_the_old_key_may_go(sealed: list[Any], settings: Settings) -> None:
    settings.ENCRYPTION_KEYS = [NEW, OLD]
    assert "4 sealed anew, 0 were fresh" in rotate()
    assert "0 sealed anew, 4 were fresh" in rotate()
    settings.ENCRYPTION_KEYS = [NEW]
    credential, trigger, endpoint, without = sealed
    for row in sealed:
        row.refresh_from_db()
    assert unseal(credential.secret) == unseal(trigger.secret) == unseal(trigger.old_secret) == "canary"
    assert unseal(endpoint.sealed_secret) == "canary"
    assert without.secret == ""


def test_what_no_key_opens_is_named_and_the_rest_is_done(sealed: list[Any], settings: Settings) -> None:
    settings.ENCRYPTION_KEYS = [LOST]
    lost = StoredCredential.objects.create(
        user=sealed[0].user, provider="p", kind="api_key", secret=seal("x")
    )
    settings.ENCRYPTION_KEYS = [NEW, OLD]
    with pytest.raises(CommandError, match=f"1 cannot be opened .*StoredCredential {lost.pk}"):
        rotate()
    settings.ENCRYPTION_KEYS = [NEW]
    sealed[0].refresh_from_db()
    assert unseal(sealed[0].secret) == "canary"


def test_a_canary_shows_up_nowhere(
    as_ada: Client,
    provider: Provider,
    ada: User,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Kept, used, refreshed, refused, listed, changed: in no answer, log line, admin page or dump."""
    caplog.set_level("DEBUG")
    answers = [
        as_ada.post("/api/credentials", body, content_type="application/json")
        for body in (
            {"provider": "p", "kind": "api_key", "api_key": "canary-1"},
            {"provider": "smtp", "kind": "user_password", "username": "canary-2", "password": "canary-3"},
            {"provider": "p", "kind": "host_scoped", "host": "x.example", "headers": {"A": "canary-4"}},
            {"provider": "p", "kind": "api_key", "api_key": ["canary-5"]},
            {"provider": "p", "kind": "host_scoped", "host": "", "headers": {"A": "canary\r\n-6"}},
        )
    ]
    answers.append(sign_in(as_ada))
    StoredCredential.objects.filter(kind="oauth2").update(expires_at="2020-01-01T00:00:00Z")
    assert StoredCredentials(ada.pk).find("acme", destination=ACME) is not None
    provider.tell(revoke=True)
    StoredCredential.objects.filter(kind="oauth2").update(expires_at="2020-01-01T00:00:00Z")
    with pytest.raises(Exception, match="Sign in again") as caught:
        StoredCredentials(ada.pk).find("acme", destination=ACME)
    answers.append(as_ada.get("/api/credentials"))
    operator = Client()
    operator.force_login(User.objects.create_superuser("root"))
    answers.append(operator.get("/admin/executions/storedcredential/"))
    answers += [
        operator.get(f"/admin/executions/storedcredential/{row.pk}/change/")
        for row in StoredCredential.objects.all()
    ]
    assert {answer.status_code for answer in answers} == {200, 201, 400}
    dump = serializers.serialize(
        "json", [row for model in apps.get_models() for row in model._default_manager.all()]
    )
    said = "".join(capsys.readouterr()) + caplog.text
    assert "sign-in not renewed" in said
    for place in (*(answer.content.decode() for answer in answers), said, dump, repr(caught.value)):
        assert "canary" not in place
        assert base64.b64encode(b"canary")[:7].decode() not in place


def test_operators_see_credentials_and_change_none(as_ada: Client, ada: User) -> None:
    row = StoredCredential.objects.create(
        user=ada, provider="p", kind="api_key", secret=seal("x"), title="Mine"
    )
    operator = Client()
    operator.force_login(User.objects.create_superuser("root"))
    page = f"/admin/executions/storedcredential/{row.pk}/change/"
    assert "Mine" in operator.get(page).content.decode()
    assert row.secret not in operator.get(page).content.decode()
    assert operator.post(page, {"title": "Theirs"}).status_code == 403
    assert operator.get("/admin/executions/storedcredential/add/").status_code == 403
