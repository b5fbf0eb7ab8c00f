"""What the machine itself must offer: Python, disk, a sandbox, the built chat UI."""

from __future__ import annotations

import platform
import shutil
import sys

from django.conf import settings

from boundary.sandbox import control_groups
from boundary.sandbox.running import OFF, REQUIRED, mode, unavailable_reason
from copilot_project.checks.check import Check, broken, well
from copilot_project.embedded import ui

LOW_DISK_MEGABYTES = 200


def python() -> Check:
    """The launcher refuses a Python that is too old, so this names the one that runs."""
    return well("python", f"{platform.python_version()} in {sys.prefix}")


def disk() -> Check:
    settings.HOME.mkdir(parents=True, exist_ok=True, mode=0o700)
    free = shutil.disk_usage(settings.HOME).free // 2**20
    if free < LOW_DISK_MEGABYTES:
        return broken("disk", f"{free} MB free in {settings.HOME}", "Free some space, or move COPILOT_HOME")
    return well("disk", f"{free:,} MB free in {settings.HOME}")


def ui_build() -> Check:
    match ui.state():
        case "fresh":
            return well("UI build", "built from these sources", needed=False)
        case "absent":
            return broken("UI build", "there is no frontend/ folder", "Get the whole project", needed=False)
        case state:
            return broken("UI build", state, "./copilot up builds it, or ./copilot build_ui", needed=False)


def sandbox() -> Check:
    """Whether code may be run here: tried for real, as before any tool that runs code is offered."""
    if mode() == OFF:
        return well("sandbox", "switched off: bash_exec and code blocks are not offered", needed=False)
    needed = mode() == REQUIRED
    if reason := unavailable_reason():
        hint = "Install bubblewrap for bash_exec and code blocks; everything else works without"
        return broken("sandbox", reason, hint, needed=needed)
    return well("sandbox", f"bubblewrap holds; {control_groups.describe()}", needed=needed)
