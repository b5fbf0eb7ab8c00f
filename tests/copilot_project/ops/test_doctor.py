"""`doctor` on a deployment: each thing that may be wrong is told in one line, with what to do."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.core.files.storage import storages
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from accounts.models import User
from copilot_project.ops.checks import catalog, deployment
from copilot_project.ops.checks.check import Check
from durable import liveness
from durable.encryption import seal
from durable.models import WorkerBeat
from durable.redis import client
from executions.models import StoredCredential
from tools.operations import completion_stream

pytestmark = pytest.mark.django_db
SITE = "https://ratchet.example.com"


@pytest.fixture(autouse=True)
def well_set_up(settings: Settings) -> None:
    settings.ENV = replace(settings.ENV, site_url=SITE, production=True)
    settings.SITE_URL = SITE
    settings.ALLOWED_HOSTS = ["ratchet.example.com"]
    settings.CSRF_TRUSTED_ORIGINS = [SITE]
    settings.COPILOT_TRUSTED_PROXIES = ["10.0.0.0/8"]


def tells(found: Check, words: str, *, hint: str, needed: bool = True) -> None:
    assert not found.ok
    assert words in found.message
    assert hint in found.hint
    assert found.needed is needed


# --- settings -------------------------------------------------------------------------------------


def test_a_site_that_is_set_up_is_well() -> None:
    assert deployment.hosts().ok
    assert deployment.trusted_proxies().ok
    assert deployment.keys().ok


@pytest.mark.parametrize(
    ("name", "value", "words", "hint"),
    [
        ("SITE_URL", "http://ratchet.example.com", "SITE_URL is http", "https://"),
        ("ALLOWED_HOSTS", ["other.example.com"], "ALLOWED_HOSTS does not contain ratchet", "Add the host"),
        ("CSRF_TRUSTED_ORIGINS", [], "CSRF_TRUSTED_ORIGINS does not contain", SITE),
    ],
)
def test_a_public_address_that_does_not_fit_is_told(
    settings: Settings, name: str, value: Any, words: str, hint: str
) -> None:
    setattr(settings, name, value)
    tells(deployment.hosts(), words, hint=hint)


def test_a_whole_domain_may_be_allowed(settings: Settings) -> None:
    settings.ALLOWED_HOSTS = [".example.com"]
    assert deployment.hosts().ok


@pytest.mark.parametrize(
    ("proxies", "words"),
    [([], "is empty"), (["proxy.local"], "not an address or network"), (["0.0.0.0/0"], "trusts everyone")],
)
def test_a_proxy_that_cannot_be_believed_is_told(settings: Settings, proxies: list[str], words: str) -> None:
    settings.COPILOT_TRUSTED_PROXIES = proxies
    found = deployment.trusted_proxies()
    assert words in found.message and found.hint and not found.ok


# --- keys -----------------------------------------------------------------------------------------


def keep_a_secret() -> None:
    user = User.objects.create_user("ann")
    StoredCredential.objects.create(user=user, provider="x", kind="api_key", secret=seal("word"))


def test_stored_secrets_are_tried_with_the_keys(settings: Settings) -> None:
    keep_a_secret()
    assert "2 stored secrets decrypted" in deployment.keys().message
    settings.ENCRYPTION_KEYS = [Fernet.generate_key().decode(), *settings.ENCRYPTION_KEYS]
    assert deployment.keys().ok, "the old key still opens it"


def test_keys_that_open_nothing_are_told(settings: Settings) -> None:
    keep_a_secret()
    settings.ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    tells(deployment.keys(), "cannot decrypt", hint="Append the key")


def test_a_key_that_is_none_is_told(settings: Settings) -> None:
    keep_a_secret()
    settings.ENCRYPTION_KEYS = ["changeme"]
    tells(deployment.keys(), "an invalid key", hint="makekeys")


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("internal_api_key", "1234", "INTERNAL_API_KEY is too short"),
        ("flower_basic_auth", "operator:1234", "FLOWER_BASIC_AUTH is too short"),
    ],
)
def test_a_short_password_is_told(settings: Settings, field: str, value: str, words: str) -> None:
    settings.ENV = replace(settings.ENV, **{field: value})
    tells(deployment.keys(), words, hint="16 random characters")


# --- servers --------------------------------------------------------------------------------------


def test_sqlite_is_told_but_not_needed() -> None:
    if connection.vendor == "postgresql":
        assert deployment.postgres().ok and deployment.connections().ok
    else:
        tells(deployment.postgres(), "sqlite", hint="DATABASE_URL", needed=False)


def test_a_pool_too_small_for_the_concurrency_is_told(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deployment, "pool_size", lambda: 32)
    assert deployment.pool().ok
    settings.COPILOT_EXECUTIONS_CONCURRENCY = 1_000
    hint = "COPILOT_DATABASE_POOL_SIZE to 79"
    tells(deployment.pool(), "1000 jobs and 256 blocks at once share 32", hint=hint, needed=False)


def test_an_old_redis_is_told() -> None:
    tells(deployment.version_of({"redis_version": "6.0.16"}), "6.0.16", hint="6.2")
    assert deployment.version_of({"redis_version": "10.1.0"}).ok


@contextmanager
def redis_with(name: str, value: str) -> Iterator[None]:
    redis: Any = client()
    before = redis.config_get(name)[name]
    redis.config_set(name, value)
    try:
        yield
    finally:
        redis.config_set(name, before)


def test_a_redis_as_it_should_be_is_well(redis_server: object) -> None:
    with redis_with("appendonly", "yes"):
        assert [deployment.redis_version().ok, deployment.redis_memory().ok, deployment.redis_disk().ok] == [
            True
        ] * 3


def test_a_redis_that_throws_away_is_told(redis_server: object) -> None:
    with redis_with("maxmemory-policy", "allkeys-lru"):
        tells(deployment.redis_memory(), "allkeys-lru", hint="noeviction")


def test_a_redis_that_is_nearly_full_is_told(redis_server: object) -> None:
    used = int(deployment.redis_facts()["used_memory"])
    with redis_with("maxmemory", str(int(used * 1.1))):
        tells(deployment.redis_memory(), "of maxmemory is used", hint="maxmemory")


def test_a_redis_without_a_file_is_told_but_not_needed(redis_server: object) -> None:
    with redis_with("appendonly", "no"):
        tells(deployment.redis_disk(), "no append-only file", hint="appendonly yes", needed=False)


@pytest.mark.parametrize(
    "probe", [deployment.redis_version, deployment.redis_memory, deployment.redis_disk, deployment.beat]
)
def test_a_redis_that_is_away_is_told(monkeypatch: pytest.MonkeyPatch, probe: Callable[[], Check]) -> None:
    def away() -> None:
        raise ConnectionError("nobody there")

    monkeypatch.setattr(deployment, "client", away)
    monkeypatch.setattr(liveness, "client", away)
    tells(probe(), "nobody there", hint="REDIS_URL")


# --- roles ----------------------------------------------------------------------------------------


def worker(kind: str, *, age: float = 0.0) -> None:
    seen = timezone.now() - timedelta(seconds=age)
    WorkerBeat.objects.create(name=f"{kind}:{age}", kind=kind, seen_at=seen)


def test_a_queue_nobody_serves_is_told() -> None:
    worker("turns")
    worker("executions", age=3600)
    tells(
        deployment.queues(),
        "no worker serves executions, operations, webhooks",
        hint="executions, operations",
    )
    worker("operations,webhooks")
    worker("executions")
    assert deployment.queues().message == "executions: 1, operations: 1, turns: 1, webhooks: 1"


def test_a_missing_beat_is_told_and_two_are_enough(redis_server: object) -> None:
    client().delete("ratchet:alive:beat")
    tells(deployment.beat(), "it is not running", hint="entrypoint beat")
    liveness.LivenessSignal("beat").give()
    assert deployment.beat().ok
    client().zadd("ratchet:alive:beat", {"elsewhere:1": liveness.now()})
    assert "2 run where one is enough" in deployment.beat().message
    client().delete("ratchet:alive:beat")


def test_a_beat_that_fell_silent_is_missing(redis_server: object) -> None:
    client().delete("ratchet:alive:beat")
    client().zadd("ratchet:alive:beat", {"elsewhere:1": liveness.now() - 3600})
    assert not deployment.beat().ok


def test_a_consumer_is_needed_once_somebody_has_written(redis_server: object) -> None:
    client().delete(f"ratchet:alive:{completion_stream.GROUP}", completion_stream.STREAM)
    tells(deployment.consumer(), "no consumer", hint="entrypoint completions", needed=False)
    client().xadd(completion_stream.STREAM, {"operation_id": "x"})
    tells(deployment.consumer(), "no consumer", hint="entrypoint completions", needed=True)
    liveness.LivenessSignal(completion_stream.GROUP).give()
    assert deployment.consumer().ok
    client().delete(f"ratchet:alive:{completion_stream.GROUP}", completion_stream.STREAM)


# --- the way in -----------------------------------------------------------------------------------


class Page(BaseHTTPRequestHandler):
    """Answers each path with the status it was told."""

    statuses: dict[str, int] = {}

    def do_GET(self) -> None:
        status = self.statuses.get(self.path, 404)
        self.send_response(status)
        if status == 301:
            self.send_header("Location", self.path)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def public(settings: Settings, **statuses: int) -> Iterator[None]:
    handler = type(
        "Answers", (Page,), {"statuses": {f"/{k.replace('_', '/')}": v for k, v in statuses.items()}}
    )
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    settings.SITE_URL = f"http://127.0.0.1:{server.server_port}"
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


def test_a_site_that_answers_the_world_is_well(settings: Settings) -> None:
    with public(settings, login_=200, ws_events_=403):
        assert deployment.public_site().ok
        assert deployment.public_sockets().ok


def test_a_proxy_that_does_not_say_https_is_told(settings: Settings) -> None:
    with public(settings, login_=301):
        tells(deployment.public_site(), "in a loop", hint="X-Forwarded-Proto")


def test_a_proxy_without_servers_behind_it_is_told(settings: Settings) -> None:
    with public(settings, login_=502):
        tells(deployment.public_site(), "answers 502", hint="log of the proxy")


def test_metrics_that_are_open_to_the_world_are_told(settings: Settings) -> None:
    with public(settings, login_=200, metrics=200):
        tells(deployment.public_site(), "/metrics is public", hint="404", needed=False)


def test_a_proxy_that_passes_no_websocket_is_told(settings: Settings) -> None:
    with public(settings, login_=200):
        tells(deployment.public_sockets(), "answers 404", hint="Upgrade")


def test_a_site_that_cannot_be_reached_from_here_is_told_but_not_needed(settings: Settings) -> None:
    settings.SITE_URL = "https://127.0.0.1:9"
    tells(deployment.public_site(), "127.0.0.1:9", hint="certificate", needed=False)
    assert not deployment.public_sockets().needed


# --- files ----------------------------------------------------------------------------------------


def stored_in(settings: Settings, folder: Path) -> None:
    kind = "django.core.files.storage.FileSystemStorage"
    settings.STORAGES = settings.STORAGES | {"default": {"BACKEND": kind, "OPTIONS": {"location": folder}}}
    storages._storages.clear()  # type: ignore[attr-defined]


def test_files_that_can_be_kept_are_well_and_leave_no_trace(settings: Settings, tmp_path: Path) -> None:
    stored_in(settings, tmp_path)
    assert deployment.storage().ok
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_folder_that_cannot_be_written_is_told(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    stored_in(settings, tmp_path / "file")
    tells(deployment.storage(), "file", hint="folder")


def test_a_bucket_that_is_not_there_is_told(settings: Settings) -> None:
    settings.ENV = replace(settings.ENV, s3_bucket="nowhere")
    settings.STORAGES = settings.STORAGES | {"default": {"BACKEND": "storages.backends.nowhere.Storage"}}
    storages._storages.clear()  # type: ignore[attr-defined]
    tells(deployment.storage(), "the bucket nowhere", hint="COPILOT_S3_BUCKET")


# --- all of it ------------------------------------------------------------------------------------


def test_every_probe_of_a_deployment_answers_in_one_line_and_says_what_to_do(redis_server: object) -> None:
    names = [probe().name for probe in catalog.DEPLOYMENT]
    assert len(set(names)) == len(names)
    for probe in catalog.DEPLOYMENT:
        found = probe()
        assert "\n" not in found.message and (found.ok or found.hint), found
