"""What scripts and strings start by name exists: a moved module must not leave a role that cannot start."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from celery import current_app
from django.apps import apps

from copilot_project.env import ROOT
from tests.code.packages import PACKAGES

SCRIPTS = ("docker/entrypoint", "docker/healthcheck", "copilot")
NAMED = re.compile(
    r"python3? (?:-P )?-m ([\w.]+)|-A (copilot_project[\w.]*)|\"-m\", \"([\w.]+)\"|-A\", \"([\w.]+)\""
)
FILES = re.compile(r"with_name\(\"([\w.]+\.py)\"\)")


def named_modules() -> list[tuple[str, str]]:
    sources = [ROOT / name for name in SCRIPTS] + sorted((ROOT / "copilot_project").rglob("*.py"))
    found = [
        (str(path.relative_to(ROOT)), match) for path in sources for match in NAMED.findall(path.read_text())
    ]
    return [(path, name) for path, names in found for name in names if name and name != "MODULE"]


def test_modules_that_are_started_by_name_exist() -> None:
    found = named_modules()
    assert len(found) > 8
    assert [one for one in found if find_spec(one[1]) is None] == []


def test_scripts_that_are_started_by_file_name_exist() -> None:
    found = [
        path.with_name(name)
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        for name in FILES.findall(path.read_text())
    ]
    assert found
    assert [str(path) for path in found if not path.exists()] == []


def test_celery_finds_the_signals_that_start_the_durable_runtime() -> None:
    source = Path(ROOT / "copilot_project" / "celery.py").read_text()
    ((packages, module),) = re.findall(r"autodiscover_tasks\(\[\"(\w+)\"\], related_name=\"(\w+)\"", source)
    assert find_spec(f"{packages}.{module}") is not None


@pytest.mark.parametrize("app", ["chat", "executions", "tools", "webhooks", "workspace"])
def test_every_package_with_tasks_is_an_app_whose_tasks_celery_knows(app: str) -> None:
    assert apps.is_installed(app)
    current_app.loader.import_default_modules()
    assert [name for name in current_app.tasks if name.startswith(f"{app}.")]
