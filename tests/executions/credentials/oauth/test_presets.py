"""Well-known providers need a client id and a secret, and nothing else."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core.checks import run_checks
from django.test import Client
from pytest_django import Settings

from copilot_project.env import ROOT
from executions.credentials.oauth.presets import PRESETS, with_presets
from executions.credentials.oauth.providers import provider_named
from executions.credentials.secrets import OAuthTokens, open_secret
from executions.models import StoredCredential
from tests.executions.credentials.conftest import Provider, come_back

pytestmark = pytest.mark.django_db
REGISTERED = {"client_id": "ratchet", "client_secret": "canary-client-secret"}
EIGHT = ["discord", "github", "google", "linear", "notion", "reddit", "todoist", "twitter"]


def test_the_eight_providers_of_the_original_are_there() -> None:
    assert sorted(PRESETS) == EIGHT


@pytest.mark.parametrize("name", EIGHT)
def test_a_preset_leads_to_the_providers_own_page(name: str, as_ada: Client, settings: Settings) -> None:
    settings.COPILOT_OAUTH_PROVIDERS = json.dumps({name: REGISTERED})
    assert "executions.E010" not in {problem.id for problem in run_checks()} and provider_named(name).host
    answer = as_ada.post(f"/api/credentials/oauth/{name}/start", {}, content_type="application/json")
    url = urlsplit(answer.json()["url"])
    asked = {field: values[0] for field, values in parse_qs(url.query).items()}
    expected = urlsplit(PRESETS[name]["authorize_url"])
    assert (url.scheme, url.netloc, url.path) == ("https", expected.netloc, expected.path)
    assert asked["client_id"] == "ratchet" and asked["code_challenge_method"] == "S256"
    assert asked["redirect_uri"].endswith(f"/api/credentials/oauth/{name}/callback")
    separator = PRESETS[name].get("scope_separator", " ")
    assert asked.get("scope", "") == separator.join(PRESETS[name].get("scopes", []))
    assert PRESETS[name].get("authorize_params", {}).items() <= asked.items()


@pytest.mark.parametrize("name", ["reddit", "github"])  # with the secret in a header, and in the body
def test_a_sign_in_works_with_the_habits_of_a_preset(
    name: str, as_ada: Client, provider: Provider, settings: Settings
) -> None:
    known = json.loads(settings.COPILOT_OAUTH_PROVIDERS)["acme"]
    moved = {field: known[field] for field in ("authorize_url", "token_url", "client_id", "client_secret")}
    settings.COPILOT_OAUTH_PROVIDERS = json.dumps({name: moved})
    answer = as_ada.post(f"/api/credentials/oauth/{name}/start", {}, content_type="application/json")
    kept = come_back(as_ada, answer.json()["url"])
    assert kept.status_code == 200, kept.content
    row = StoredCredential.objects.get()
    assert (row.provider, row.host) == (name, PRESETS[name]["host"])
    tokens: Any = open_secret(row)
    assert isinstance(tokens, OAuthTokens) and tokens.access_token.startswith("canary-access-")


def test_fields_of_the_operator_win_over_the_preset(settings: Settings) -> None:
    settings.COPILOT_OAUTH_PROVIDERS = json.dumps({"github": REGISTERED | {"scopes": ["gist"]}})
    found = provider_named("github")
    assert (found.scopes, found.title) == (("gist",), "GitHub")


@pytest.mark.parametrize(
    "value", ["[]", '{"acme": {"client_id": "x"}}', '{"github": 1}', '{"github": {}}', "{"]
)
def test_what_is_not_complete_is_still_refused(value: str, settings: Settings) -> None:
    settings.COPILOT_OAUTH_PROVIDERS = value
    assert "executions.E010" in {problem.id for problem in run_checks()}
    assert with_presets("no object") == "no object"


def test_the_guide_lists_every_preset_with_its_scopes() -> None:
    page = (ROOT / "docs" / "how-to" / "sign-in-with-oauth.md").read_text()
    for name, preset in PRESETS.items():
        [line] = [line for line in page.splitlines() if line.strip().startswith(f"| `{name}` |")]
        assert preset["title"] in line and preset["host"] in line, name
        assert all(f"`{scope}`" in line for scope in preset.get("scopes", [])), name
