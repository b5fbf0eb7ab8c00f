"""docs/deployment.md can be followed: its tables are fresh, its variables exist, its commands run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from django.urls import reverse

from copilot_project import deployment_page
from copilot_project.env import ROOT, Environment

TEXT = deployment_page.PAGE.read_text()
FOLLOWED = re.compile(r"<!-- followed by a test -->\n```sh\n(.*?)```", re.DOTALL)
OUTSIDE = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "YOUR", "HOST", "PROVIDER", "CHANGELOG"}


def test_every_variable_the_guide_names_exists() -> None:
    known = {field.metadata["name"] for field in fields(Environment)} | OUTSIDE
    named = set(re.findall(r"`([A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+)[`=]", TEXT))
    assert named - known - {"COPILOT_WORKER_CONCURRENCY"} == set()
    assert set(deployment_page.MUST_CHANGE) | set(deployment_page.MAY_CHANGE) <= known


def test_the_roles_of_the_guide_are_those_of_the_entrypoint() -> None:
    script = (ROOT / "docker" / "entrypoint").read_text()
    roles = set(re.findall(r"^    ([a-z]+)\)", script, re.MULTILINE)) - {"help", "makekeys"}
    assert roles == set(deployment_page.ROLES)


def test_the_redirect_address_of_sign_ins_is_the_one_that_is_served() -> None:
    address = reverse("credential-oauth-callback", args=["PROVIDER"])
    assert f"https://YOUR-HOST{address}" in TEXT


def test_every_page_the_guide_points_to_exists() -> None:
    for target in re.findall(r"\]\(([a-z/.-]+\.md)\)", TEXT):
        assert (deployment_page.PAGE.parent / target).exists(), target


@pytest.mark.services
@pytest.mark.timeout(400)
def test_the_commands_of_the_guide_run_in_the_order_they_stand(tmp_path: Path, database: str) -> None:
    commands = FOLLOWED.findall(TEXT)
    assert len(commands) == 4
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COPILOT_")} | {
        "COPILOT_PRODUCTION": "true",
        "COPILOT_HOME": str(tmp_path / "home"),
        "SECRET_KEY": "a-key-for-one-test-that-nobody-else-knows-0123456789-abcdef",
        "ENCRYPTION_KEYS": Fernet.generate_key().decode(),
        "ALLOWED_HOSTS": "ratchet.example.com",
        "CSRF_TRUSTED_ORIGINS": "https://ratchet.example.com",
        "SITE_URL": "https://ratchet.example.com",
        "COPILOT_TRUSTED_PROXIES": "10.0.0.0/8",
        "DATABASE_URL": database,
        "OPENAI_API_KEY": "sk-none",
        "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
        "DJANGO_SUPERUSER_PASSWORD": "a long enough password",
        "BACKUPS": str(tmp_path),
    }
    script = "set -e\n" + "".join(commands).replace("./copilot ", f"{sys.executable} manage.py ")
    result = subprocess.run(
        ["bash", "-c", script],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=380,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert "Restored the backup" in result.stdout and "event pages" in result.stdout
