"""A person, a provider that runs as a real process, and the site configured for it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from django.test import Client
from pytest_django import Settings

from tests.executions.credentials.oauth_server import CLIENT, SECRET
from tests.executions.people import ada, as_ada, bob

__all__ = ["ada", "as_ada", "bob"]


@dataclass(frozen=True, kw_only=True)
class Provider:
    """The running provider, from outside."""

    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def tell(self, **said: Any) -> None:
        httpx.post(f"{self.url}/control", json=said).raise_for_status()

    def seen(self) -> dict[str, Any]:
        found: dict[str, Any] = httpx.get(f"{self.url}/control").json()
        return found

    def config(self, **more: Any) -> dict[str, Any]:
        return {
            "title": "Acme",
            "authorize_url": f"{self.url}/authorize",
            "token_url": f"{self.url}/token",
            "client_id": CLIENT,
            "client_secret": SECRET,
            "scopes": ["read", "write"],
            "host": "api.acme.example",
        } | more


@pytest.fixture(scope="module")
def provider_process() -> Iterator[int]:
    script = Path(__file__).with_name("oauth_server.py")
    process = subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    yield int(process.stdout.readline())
    process.communicate(timeout=60)


@pytest.fixture
def provider(provider_process: int, settings: Settings) -> Provider:
    running = Provider(port=provider_process)
    running.tell(life=3600, fail=0, slow=0.0, with_refresh=True, as_form=False, seen=[], most_at_once=0)
    settings.BOUNDARY_ALLOWED_HOSTS = [f"127.0.0.1:{running.port}"]
    settings.COPILOT_OAUTH_PROVIDERS = json.dumps({"acme": running.config()})
    return running


def sign_in(as_ada: Client, **wish: Any) -> Any:
    """As a person does: start, sign in at the provider, come back."""
    started = as_ada.post("/api/credentials/oauth/acme/start", wish, content_type="application/json")
    assert started.status_code == 200, started.json()
    return come_back(as_ada, started.json()["url"])


def come_back(as_ada: Client, url: str) -> Any:
    return as_ada.get(callback_of(url))


def callback_of(url: str) -> str:
    """Where the provider sends the browser."""
    back = urlsplit(httpx.get(url).headers["location"])
    return f"{back.path}?{back.query}"
