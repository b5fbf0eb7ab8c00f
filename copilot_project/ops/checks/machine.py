"""Checks of the machine: Python, disk, sandbox and the built chat UI."""

from __future__ import annotations

import platform
import shutil
import sys

from django.conf import settings

from boundary.sandbox import control_groups
from boundary.sandbox.run import OFF, REQUIRED, mode, unavailable_reason
from copilot_project.launcher import ui
from copilot_project.ops.checks.check import Check, broken, well

LOW_DISK_MEGABYTES = 200


def python() -> Check:
    """Report the running Python; the launcher has refused versions that are too old."""
    return well("python", f"{platform.python_version()} in {sys.prefix}")


def disk() -> Check:
    settings.HOME.mkdir(parents=True, exist_ok=True, mode=0o700)
    free = shutil.disk_usage(settings.HOME).free // 2**20
    if free < LOW_DISK_MEGABYTES:
        return broken(
            "disk", f"{free} MB free in {settings.HOME}", "Free some disk space, or move COPILOT_HOME"
        )
    return well("disk", f"{free:,} MB free in {settings.HOME}")


def ui_build() -> Check:
    match ui.state():
        case "fresh":
            return well("UI build", "built from these sources", needed=False)
        case "absent":
            return broken(
                "UI build", "the frontend/ folder is missing", "Get the complete project", needed=False
            )
        case state:
            return broken(
                "UI build", state, "Run ./copilot up or ./copilot build_ui to build it", needed=False
            )


def sandbox() -> Check:
    """Try the sandbox for real, as the product does before it offers a tool that runs code."""
    if mode() == OFF:
        return well("sandbox", "off: shell commands and code blocks are not offered", needed=False)
    needed = mode() == REQUIRED
    if reason := unavailable_reason():
        hint = "Install bubblewrap to offer shell commands and code blocks; everything else works without it"
        return broken("sandbox", reason, hint, needed=needed)
    return well("sandbox", f"bubblewrap works; {control_groups.describe()}", needed=needed)
