"""Every change through the HTTP API counts against a limit, each person's, visitor's or address's own."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.core import signing
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import URLPattern, URLResolver, get_resolver
from pytest_django import Settings
from rest_framework.permissions import SAFE_METHODS
from rest_framework.test import APIClient

from accounts import limits
from accounts.api.throttling import WriteRate
from accounts.models import User
from accounts.visitors import SALT
from chat.api.operations import CompleteOperation
from durable.redis import client as redis
from executions.api.hooks import Hook

TRIES = 12  # more than twice the limit: the minute may change on the way
OPEN_TO_KEYS = {Hook, CompleteOperation}  # their callers hold a secret; calls of a trigger are counted there


@pytest.fixture(autouse=True)
def five_a_minute(settings: Settings, redis_server: object) -> Iterator[None]:
    redis().flushdb()
    settings.COPILOT_MAX_WRITES_PER_MINUTE = 5
    yield
    redis().flushdb()


@pytest.fixture
def api(ada: User) -> APIClient:
    client = APIClient()
    client.force_authenticate(ada)
    return client


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("post", "/api/ws-ticket", {}),
        ("patch", "/api/me", {"theme": "dark"}),
        ("post", "/api/keys", {"name": "program"}),
        ("post", "/api/webhooks", {"url": "https://example.org/", "events": ["turn.finished"]}),
        ("post", "/api/webhooks", {}),
    ],
)
def test_changes_over_the_limit_are_refused(
    api: APIClient, bob: User, method: str, path: str, body: dict[str, Any]
) -> None:
    answers = [getattr(api, method)(path, body, format="json") for _ in range(TRIES)]
    assert answers[0].status_code != 429
    assert answers[-1].status_code == 429
    assert int(answers[-1]["Retry-After"]) > 0
    assert api.get("/api/me").status_code == 200
    api.force_authenticate(bob)
    assert api.post("/api/ws-ticket").status_code == 200


def test_uploads_over_the_limit_are_refused(api: APIClient) -> None:
    codes = [
        api.post("/api/files", {"file": SimpleUploadedFile("a.txt", b"a")}).status_code for _ in range(TRIES)
    ]
    assert (codes[0], codes[-1]) == (201, 429)


def test_every_view_of_the_api_counts_changes() -> None:
    views = {view for view in api_views() if set(methods_of(view)) - set(SAFE_METHODS)}
    assert len(views) > 20
    uncounted = {view for view in views if WriteRate not in view.throttle_classes}
    assert uncounted == OPEN_TO_KEYS


def api_views() -> Iterator[Any]:
    waiting: list[Any] = [get_resolver()]
    while waiting:
        found = waiting.pop()
        if isinstance(found, URLResolver):
            waiting += found.url_patterns
        elif isinstance(found, URLPattern) and hasattr(found.callback, "cls"):
            yield found.callback.cls


def methods_of(view: Any) -> list[str]:
    return [name.upper() for name in view.http_method_names if hasattr(view, name)]


def test_visitors_do_not_share_one_counter(db: None, settings: Settings) -> None:
    settings.COPILOT_ALLOW_ANONYMOUS = True
    known = APIClient(REMOTE_ADDR="192.0.2.1")
    assert known.post("/api/sessions", {}, format="json").status_code == 201
    newcomers = [
        APIClient(REMOTE_ADDR="192.0.2.1").post("/api/sessions", {}, format="json").status_code
        for _ in range(TRIES)
    ]
    assert newcomers[-1] == 429, "who comes without a cookie is counted by address"
    elsewhere = APIClient(REMOTE_ADDR="192.0.2.2").post("/api/sessions", {}, format="json")
    assert elsewhere.status_code == 201
    assert known.post("/api/sessions", {}, format="json").status_code == 201


def test_many_cookies_of_one_address_are_counted_together(db: None, settings: Settings) -> None:
    settings.COPILOT_ALLOW_ANONYMOUS = True
    settings.COPILOT_MAX_WRITES_PER_MINUTE = 2
    visitors = [APIClient(REMOTE_ADDR="192.0.2.1") for _ in range(3 * limits.VISITORS_PER_ADDRESS)]
    for visitor in visitors:
        visitor.cookies[settings.COPILOT_VISITOR_COOKIE] = signing.dumps(uuid.uuid4().hex, salt=SALT)
    codes = [visitor.post("/api/sessions", {}, format="json").status_code for visitor in 2 * visitors]
    assert codes[0] == 201
    assert 429 in codes, "no cookie was used more often than it may be"
    elsewhere = APIClient(REMOTE_ADDR="192.0.2.2").post("/api/sessions", {}, format="json")
    assert elsewhere.status_code == 201
