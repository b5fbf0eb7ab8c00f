"""In production, cookies are for https and this very host alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from cryptography.fernet import Fernet

PROGRAM = """
import json
import django
django.setup()
from django.http import HttpResponse
from django.test import RequestFactory
from django.conf import settings
from accounts.visitors import ensure_visitor
response = HttpResponse()
ensure_visitor(RequestFactory().get("/"), response)
names = [name for name in dir(settings) if name.startswith(("SESSION_COOKIE", "CSRF_COOKIE"))]
print(json.dumps({name: getattr(settings, name) for name in names} | {"visitor": response.cookies.output()}))
"""


def test_cookies_carry_the_host_prefix_and_every_flag(tmp_path: Path) -> None:
    environment = os.environ | {
        "COPILOT_PRODUCTION": "1",
        "COPILOT_HOME": str(tmp_path),
        "SECRET_KEY": "k" * 60,
        "ENCRYPTION_KEYS": Fernet.generate_key().decode(),
        "ALLOWED_HOSTS": "copilot.example",
        "COPILOT_TEST_APPS": "",
        "COPILOT_TEST_TOOLS": "",
        "DJANGO_SETTINGS_MODULE": "copilot_project.settings",
    }
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=500
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["SESSION_COOKIE_NAME"] == "__Host-sessionid"
    assert found["CSRF_COOKIE_NAME"] == "__Host-csrftoken"
    for kind in ("SESSION", "CSRF"):
        assert found[f"{kind}_COOKIE_SECURE"] is True
        assert found[f"{kind}_COOKIE_SAMESITE"] == "Lax"
        assert found[f"{kind}_COOKIE_PATH"] == "/"
        assert found[f"{kind}_COOKIE_DOMAIN"] is None
    assert found["SESSION_COOKIE_HTTPONLY"] is True
    cookie = found["visitor"]
    assert "__Host-visitor=" in cookie
    assert all(flag in cookie for flag in ("Secure", "HttpOnly", "SameSite=Lax", "Path=/"))
