"""The health pages and `doctor`: what they ask, and how they answer when a part is missing."""

from __future__ import annotations

import io
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from copilot_project.celery import app
from copilot_project.launcher import ui
from copilot_project.management.commands.doctor import describe
from copilot_project.ops.checks import catalog, machine, parts
from copilot_project.ops.checks.check import broken, well
from copilot_project.ops.checks.web import answers
from durable.models import WorkerBeat
from tests.copilot_project.terminal.scripted_site import Script, serving

pytestmark = pytest.mark.django_db


def beat(name: str = "host:1:aa", age: float = 0.0) -> WorkerBeat:
    return WorkerBeat.objects.create(name=name, kind="turns", seen_at=timezone.now() - timedelta(seconds=age))


# --- pages --------------------------------------------------------------------------------------


def test_healthz_asks_nothing_but_the_process(
    client: Client, django_assert_num_queries: Any, settings: Settings
) -> None:
    settings.REDIS_URL = "unix:///nowhere.sock"
    with django_assert_num_queries(0):
        answer = client.get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    assert "no-cache" in answer["Cache-Control"]


def test_readyz_is_well_with_database_redis_and_a_worker(client: Client, redis_server: object) -> None:
    beat()
    answer = client.get("/readyz")
    assert answer.status_code == 200
    assert answer.json() == {"status": "ok", "checks": {"database": "ok", "redis": "ok", "workers": "ok"}}


def test_readyz_names_what_is_missing(client: Client, redis_server: object) -> None:
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json() == {
        "status": "unavailable",
        "checks": {"database": "ok", "redis": "ok", "workers": "failing"},
    }


def test_readyz_tells_strangers_nothing_but_names(client: Client, settings: Settings) -> None:
    assert "sqlite" not in client.get("/readyz").content.decode()


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_health_pages_take_no_post(client: Client, path: str) -> None:
    assert client.post(path).status_code == 405


# --- probes -------------------------------------------------------------------------------------


def test_a_worker_that_has_been_silent_is_not_alive(settings: Settings) -> None:
    beat(age=10 * settings.COPILOT_HEARTBEAT_SECONDS)
    assert not parts.workers().ok
    beat(name="host:2:bb")
    assert parts.workers().message == "1 alive (turns)"


def test_a_worker_is_found_by_its_process_id() -> None:
    beat(name="host:123:ab")
    assert parts.worker_is_alive(123)
    assert not parts.worker_is_alive(12)


def test_a_redis_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Away:
        def ping(self) -> None:
            raise ConnectionError("nobody there")

    monkeypatch.setattr(parts, "client", lambda: Away())
    found = parts.redis()
    assert (found.ok, found.message) == (False, "nobody there")
    assert found.hint


def test_a_broker_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app.conf, "broker_write_url", "redis://127.0.0.1:9/0")
    found = parts.broker()
    assert not found.ok
    assert "CELERY_BROKER_URL" in found.hint


def test_the_broker_answers(redis_server: object) -> None:
    assert parts.broker().ok


@pytest.mark.parametrize(("status", "ok"), [(200, True), (401, False), (404, True), (503, False)])
def test_a_model_endpoint_is_asked_for_its_models(settings: Settings, status: int, ok: bool) -> None:
    settings.ENV = type(settings.ENV).read({"OPENAI_API_KEY": "k"})
    settings.OPENAI_API_KEY = "k"
    script = Script(statuses=[status], all_paths_stream=True)
    with serving(script):
        settings.OPENAI_BASE_URL = f"{script.url}/v1"
        assert parts.model().ok is ok


def test_a_model_endpoint_that_is_away_is_told(settings: Settings) -> None:
    settings.ENV = type(settings.ENV).read({"OPENAI_API_KEY": "k"})
    settings.OPENAI_BASE_URL = "http://127.0.0.1:9/v1"
    found = parts.model()
    assert not found.ok and "OPENAI_BASE_URL" in found.hint


def test_the_offline_model_must_run(settings: Settings, tmp_path: Path) -> None:
    settings.ENV = type(settings.ENV).read({})
    settings.HOME = tmp_path
    assert not parts.model().ok


def test_a_disk_that_is_nearly_full_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert machine.disk().ok
    monkeypatch.setattr(machine, "LOW_DISK_MEGABYTES", 10**9)
    assert not machine.disk().ok


@pytest.mark.parametrize(
    ("state", "ok"), [("fresh", True), ("stale", False), ("missing", False), ("absent", False)]
)
def test_the_chat_ui_is_not_needed(monkeypatch: pytest.MonkeyPatch, state: str, ok: bool) -> None:
    monkeypatch.setattr(ui, "state", lambda: state)
    found = machine.ui_build()
    assert (found.ok, found.needed) == (ok, False)


def test_a_switched_off_sandbox_is_well(settings: Settings) -> None:
    settings.SANDBOX = "off"
    assert machine.sandbox().ok


@pytest.mark.parametrize(("mode", "needed"), [("auto", False), ("bwrap", True)])
def test_a_missing_sandbox_is_only_needed_when_asked_for(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, mode: str, needed: bool
) -> None:
    monkeypatch.setattr(machine, "unavailable_reason", lambda: "bwrap is not installed.")
    settings.SANDBOX = mode
    found = machine.sandbox()
    assert (found.ok, found.needed, found.message) == (False, needed, "bwrap is not installed.")


def test_an_address_answers_or_does_not() -> None:
    with serving(Script()) as script:
        assert answers(f"{script.url}/x", timeout=60)
        url = script.url
    assert not answers(f"{url}/x", timeout=1)


# --- doctor -------------------------------------------------------------------------------------


def doctor(*words: str) -> tuple[int, str]:
    out = io.StringIO()
    try:
        call_command("doctor", *words, stdout=out)
    except SystemExit as stop:
        return int(stop.code or 0), out.getvalue()
    return 0, out.getvalue()


GOOD = lambda: well("database", "fine")  # noqa: E731
BAD = lambda: broken("redis", "away", "Start it")  # noqa: E731
OPTIONAL = lambda: broken("UI build", "missing", "Build it", needed=False)  # noqa: E731


def test_doctor_is_well_when_only_something_optional_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "ALL", (GOOD, OPTIONAL))
    assert doctor() == (0, "ok       database      fine\nmissing  UI build      missing. Build it.\n")


def test_doctor_fails_when_something_needed_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "ALL", (GOOD, BAD))
    code, text = doctor()
    assert code == 1
    assert text.splitlines()[1] == "BROKEN   redis         away. Start it."


def test_doctor_speaks_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "ALL", (GOOD, BAD))
    code, text = doctor("--json")
    assert code == 1
    assert [(row["name"], row["ok"], row["needed"]) for row in json.loads(text)] == [
        ("database", True, True),
        ("redis", False, True),
    ]


def test_doctor_checks_every_part_of_the_contract(redis_server: object) -> None:
    names = [row["name"] for row in json.loads(doctor("--json")[1])]
    assert names == [
        *("python", "database", "migrations", "redis", "broker", "workers", "model"),
        *("UI build", "sandbox", "disk"),
    ]


def test_every_broken_part_says_what_to_do() -> None:
    for probe in catalog.ALL:
        found = probe()
        assert found.ok or found.hint, found
        assert describe(found).count("\n") == 0
