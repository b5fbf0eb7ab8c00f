"""The files a reader must open to follow one message with one tool call, from POST to the end of its stream."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from copilot_project.env import ROOT
from tests.chat.delivery.live_server import database_url_of_tests
from tests.offline_server import OfflineServer

# As measured. They may only go down; the goal is 45 files to follow and 6 crossings.
MAX_FILES = 107
MAX_LEADING = 63
MAX_CHAT_FILES = 31
MAX_CROSSINGS = 11
SECONDS = 240

pytestmark = pytest.mark.django_db(transaction=True)


def test_one_message_with_one_tool_call_runs_through_few_files(redis_server: object) -> None:
    with OfflineServer() as model:
        environment = os.environ | {
            "DATABASE_URL": database_url_of_tests(),
            "DJANGO_SETTINGS_MODULE": "copilot_project.settings",
            "OPENAI_BASE_URL": model.url,
            "OPENAI_API_KEY": "offline",
            "COPILOT_MODEL": "offline",
            "LOG_LEVEL": "WARNING",
            "COPILOT_LEASE_SECONDS": "60",  # profiled code is slow: no lease may expire meanwhile
            "COPILOT_HEARTBEAT_SECONDS": "5",
        }
        done = subprocess.run(
            [sys.executable, "-m", "tests.code.walk"],
            cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, timeout=SECONDS, check=True,
        )  # fmt: skip
    found = json.loads(done.stdout.splitlines()[-1])
    report = "\n".join([*found["files"], "", *found["crossings"]])
    assert len(found["files"]) <= MAX_FILES, report
    assert sum(name.startswith("chat/") for name in found["files"]) <= MAX_CHAT_FILES, report
    assert len(found["leading"]) <= MAX_LEADING, report
    assert len(found["crossings"]) <= MAX_CROSSINGS, report
    assert "chat/turns.py" in found["leading"], report
