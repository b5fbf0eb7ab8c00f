"""Each preset signs in, is renewed and is refused rightly at a strict stand-in with the provider's own habits."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from urllib.parse import parse_qs, parse_qsl, quote, urlencode, urlsplit

import httpx
import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from boundary.policy import Destination
from executions.credentials.errors import SignInAgain
from executions.credentials.lookup import StoredCredentials
from executions.credentials.oauth.presets import PRESETS
from executions.credentials.secrets import OAuthTokens, open_secret
from executions.models import StoredCredential
from tests.executions.credentials.conftest import callback_of
from tests.executions.credentials.oauth.strict_providers import CLIENT, PROVIDERS, SECRET

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis_server")]
ALL = sorted(PRESETS)
ORIGIN = "http://testserver"
RENEWED = [name for name in ALL if PROVIDERS[name].life is not None]


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    script = Path(__file__).with_name("strict_providers.py")
    process = subprocess.Popen(
        [sys.executable, str(script), ORIGIN],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    yield int(process.stdout.readline())
    process.communicate(timeout=60)


@pytest.fixture
def site(port: int, settings: Settings) -> str:
    """The presets with only their addresses moved; answers where to."""
    base = f"http://127.0.0.1:{port}"
    settings.BOUNDARY_ALLOWED_HOSTS = [f"127.0.0.1:{port}"]
    settings.SITE_URL = ORIGIN
    settings.COPILOT_OAUTH_PROVIDERS = json.dumps(
        {
            name: {
                "client_id": CLIENT,
                "client_secret": SECRET,
                "authorize_url": f"{base}/{name}/authorize",
                "token_url": f"{base}/{name}/token",
            }
            for name in PRESETS
        }
    )
    return base


def begin(client: Client, name: str) -> str:
    answer = client.post(f"/api/credentials/oauth/{name}/start", {}, content_type="application/json")
    assert answer.status_code == 200, answer.content
    return str(answer.json()["url"])


def sign_in(client: Client, name: str) -> StoredCredential:
    kept = client.get(callback_of(begin(client, name)))
    assert kept.status_code == 200, kept.content
    return StoredCredential.objects.get(provider=name)


def tokens(row: StoredCredential) -> OAuthTokens:
    row.refresh_from_db()
    found = open_secret(row)
    assert isinstance(found, OAuthTokens)
    return found


def test_every_preset_has_its_stand_in() -> None:
    assert sorted(PROVIDERS) == ALL


@pytest.mark.parametrize("name", ALL)
def test_a_sign_in_at_a_strict_provider_keeps_its_tokens_and_scopes(
    name: str, as_ada: Client, site: str
) -> None:
    row = sign_in(as_ada, name)
    found = tokens(row)
    assert (row.host, found.access_token.startswith(f"{name}-")) == (PRESETS[name]["host"], True)
    assert sorted(row.scopes) == sorted(PRESETS[name].get("scopes", []))
    assert bool(found.refresh_token) is (name in RENEWED) is (row.expires_at is not None)


@pytest.mark.parametrize("name", RENEWED)
def test_a_token_that_ends_is_renewed_again_and_again(name: str, as_ada: Client, site: str) -> None:
    row = sign_in(as_ada, name)
    host = PRESETS[name]["host"].replace("*", "www")
    seen = {tokens(row).access_token}
    for _ in range(3):
        StoredCredential.objects.filter(pk=row.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
        found = StoredCredentials(row.user_id).find(name, destination=Destination(host=host, port=443))
        assert found is not None and found.api_key
        seen.add(found.api_key)
    assert len(seen) == 4


@pytest.mark.parametrize("name", ["github", "todoist"])
def test_a_token_without_an_end_is_used_as_it_is(name: str, as_ada: Client, site: str) -> None:
    row = sign_in(as_ada, name)
    found = StoredCredentials(row.user_id).find(
        name, destination=Destination(host=PRESETS[name]["host"], port=443)
    )
    assert found is not None and found.api_key == tokens(row).access_token


@pytest.mark.parametrize("name", ALL)
def test_a_callback_works_once(name: str, as_ada: Client, site: str) -> None:
    callback = callback_of(begin(as_ada, name))
    assert as_ada.get(callback).status_code == 200
    assert as_ada.get(callback).status_code == 400
    assert StoredCredential.objects.filter(provider=name).count() == 1


@pytest.mark.parametrize("name", ALL)
def test_a_code_of_another_sign_in_is_refused(name: str, as_ada: Client, site: str) -> None:
    """A code that somebody else's browser brought: the proof of this sign-in does not fit it."""
    theirs = parse_qs(urlsplit(callback_of(begin(as_ada, name))).query)["code"][0]
    mine = urlsplit(callback_of(begin(as_ada, name)))
    query = urlencode(dict(parse_qsl(mine.query)) | {"code": theirs})
    refused = as_ada.get(f"{mine.path}?{query}")
    assert refused.status_code == 400 and not StoredCredential.objects.exists()


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"redirect_uri": f"{ORIGIN}/elsewhere"}, "redirect_uri_mismatch"),
        ({"code_challenge_method": "plain"}, "pkce_required"),
        ({"code_challenge": ""}, "pkce_required"),
        ({"scope": "everything"}, "invalid_scope"),
        ({"client_id": "somebody"}, "invalid_request"),
        ({"state": ""}, "invalid_request"),
    ],
)
@pytest.mark.parametrize("name", ALL)
def test_the_stand_in_is_strict(
    name: str, change: dict[str, str], error: str, as_ada: Client, site: str
) -> None:
    url = begin(as_ada, name)
    asked = dict(parse_qsl(urlsplit(url).query)) | change
    refused = httpx.get(f"{url.partition('?')[0]}?{urlencode(asked)}")
    assert (refused.status_code, refused.json()) == (400, {"error": error})


@pytest.mark.parametrize("name", ["discord", "linear", "notion", "twitter"])
def test_a_rotated_refresh_token_that_is_used_twice_asks_for_a_new_sign_in(
    name: str, as_ada: Client, site: str
) -> None:
    row = sign_in(as_ada, name)
    form = {"grant_type": "refresh_token", "refresh_token": tokens(row).refresh_token, "client_id": CLIENT}
    if PROVIDERS[name].basic:
        sent = httpx.post(f"{site}/{name}/token", data=form, auth=(CLIENT, quote(SECRET, safe="")))
    else:
        sent = httpx.post(f"{site}/{name}/token", data=form | {"client_secret": SECRET})
    assert sent.status_code == 200, sent.text  # somebody else was faster
    StoredCredential.objects.filter(pk=row.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    host = PRESETS[name]["host"]
    with pytest.raises(SignInAgain):
        StoredCredentials(row.user_id).find(name, destination=Destination(host=host, port=443))
