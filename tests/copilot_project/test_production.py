"""Production starts only with real secrets, passes Django's own deployment checks, and protects every page."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from inspect import signature
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from django.test import Client

from accounts.models import User
from copilot_project.celery import app
from copilot_project.env import ROOT

GOOD = {
    "COPILOT_PRODUCTION": "true",
    "SECRET_KEY": "0123456789-abcdefghij-ABCDEFGHIJ-0123456789-abcdefghij-xyz",
    "ENCRYPTION_KEYS": Fernet.generate_key().decode(),
    "ALLOWED_HOSTS": "ratchet.example.com",
    "CSRF_TRUSTED_ORIGINS": "https://ratchet.example.com",
    "COPILOT_TRUSTED_PROXIES": "10.0.0.0/8",
}
REFUSED = {
    "no secret key": {"SECRET_KEY": ""},
    "no encryption key": {"ENCRYPTION_KEYS": ""},
    "a short secret key": {"SECRET_KEY": "changeme"},
    "a key made for development": {"SECRET_KEY": f"django-insecure-{'x' * 60}"},
    "debug pages": {"DEBUG": "true"},
    "any host": {"ALLOWED_HOSTS": "*"},
    "any host of a top-level domain": {"ALLOWED_HOSTS": ".com"},
    "an encryption key that is none": {"ENCRYPTION_KEYS": "changeme"},
    "tools of the tests": {"COPILOT_TEST_TOOLS": "true"},
}
TRY_ALL = """
import json, os, runpy, sys
from django.core.exceptions import ImproperlyConfigured
given = json.loads(sys.argv[1])
found = {}
for name, changes in given.items():
    os.environ.update(changes["good"] | changes["bad"])
    try:
        runpy.run_path("copilot_project/settings.py")
        found[name] = ""
    except ImproperlyConfigured as error:
        found[name] = str(error)
    for key in changes["bad"]:
        os.environ.pop(key, None)
print(json.dumps(found))
"""


def environment(home: Path) -> dict[str, str]:
    unset = {"DATABASE_URL": "", "COPILOT_TEST_APPS": "", "COPILOT_TEST_TOOLS": ""}
    return os.environ | GOOD | {"COPILOT_HOME": str(home)} | unset


def test_production_refuses_what_is_not_safe_and_says_what_to_do(tmp_path: Path) -> None:
    cases = {name: {"good": GOOD, "bad": bad} for name, bad in REFUSED.items()} | {
        "all well": {"good": GOOD, "bad": {}}
    }
    result = subprocess.run(
        [sys.executable, "-c", TRY_ALL, json.dumps(cases)],
        cwd=ROOT,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=500,
        check=True,
    )
    found = json.loads(result.stdout)
    assert found.pop("all well") == ""
    for name, text in found.items():
        assert text.startswith("Production "), name


def test_the_deployment_checks_are_clean_in_production(tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=ROOT,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert result.returncode == 0, result.stderr


PAGES = ["/login/", "/admin/", "/api/docs/", "/api/redoc/", "/nowhere", "/healthz", "/api/sessions"]


@pytest.mark.django_db
@pytest.mark.parametrize("address", PAGES)
def test_every_page_is_protected(client: Client, address: str) -> None:
    client.force_login(User.objects.create_superuser("root"))
    answer = client.get(address)
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy and "frame-ancestors 'none'" in policy
    assert "script-src" not in policy, "scripts come from this site alone, and none is inline"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["Referrer-Policy"] == "same-origin"


@pytest.mark.django_db
@pytest.mark.parametrize("address", ["/login/", "/admin/", "/api/docs/", "/api/redoc/"])
def test_no_page_needs_an_inline_script_or_style(client: Client, address: str) -> None:
    client.force_login(User.objects.create_superuser("root"))
    text = client.get(address, follow=True).content.decode()
    assert "<script>" not in text
    assert " onclick=" not in text and "javascript:" not in text


ADMIN_ELSEWHERE = """
import django; django.setup()
from django.test import Client
from django.urls import reverse
print(reverse("admin:index"), Client().get("/admin/", headers={"host": "ratchet.example.com"}, secure=True).status_code)
"""


def test_the_admin_is_where_the_environment_says_and_nowhere_else(tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-c", ADMIN_ELSEWHERE],
        cwd=ROOT,
        env=environment(tmp_path)
        | {"ADMIN_PATH": "control-room", "DJANGO_SETTINGS_MODULE": "copilot_project.settings"},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert result.stdout.split() == ["/control-room/", "404"], result.stderr


@pytest.mark.django_db
@pytest.mark.parametrize(
    "address", ["/admin/nowhere/", "/admin/chat/turn/nonsense/change/", "/admin/timeline/x/"]
)
def test_an_error_page_of_the_admin_says_nothing_of_its_inside(client: Client, address: str) -> None:
    client.force_login(User.objects.create_superuser("root"))
    answer = client.get(address, follow=True)
    text = answer.content.decode()
    assert answer.status_code in (200, 404)
    assert "Traceback" not in text and "SECRET_KEY" not in text and "urlpatterns" not in text


def test_messages_between_processes_are_json_and_carry_ids_alone() -> None:
    assert app.conf.accept_content == ["json"] and app.conf.task_serializer == "json"
    app.loader.import_default_modules()
    ours = {name: task for name, task in app.tasks.items() if not name.startswith(("celery.", "tests."))}
    assert "chat.run_turn" in ours
    for name, task in ours.items():
        assert all(word.endswith("_id") for word in signature(task.run).parameters), name
