"""What the site keeps in its home folder is for its own user alone, also in a folder that others may enter."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from copilot_project.env import ROOT

PROGRAM = """
import os
os.umask(0o022)
import django
django.setup()
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import connection
with connection.cursor() as cursor:
    cursor.execute("CREATE TABLE note (text TEXT)")
    cursor.execute("INSERT INTO note VALUES ('secret')")
    default_storage.save("ab/cd", ContentFile(b"secret"))
"""


@pytest.mark.parametrize("was_there", [False, True])
def test_the_database_and_the_files_are_readable_by_their_owner_alone(
    tmp_path: Path, was_there: bool
) -> None:
    tmp_path.chmod(0o755)
    if was_there:
        (tmp_path / "copilot.sqlite3").touch(mode=0o644)
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        env=os.environ
        | {
            "COPILOT_HOME": str(tmp_path),
            "DATABASE_URL": "",
            "DJANGO_SETTINGS_MODULE": "copilot_project.settings",
        },
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    found = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"copilot.sqlite3", "cd"} <= {path.name for path in found}
    for path in found:
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path.name
