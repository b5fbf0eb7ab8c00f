"""The environment of every test run: a home folder of its own, and nothing of the machine's.

Loaded by `-p` in pyproject.toml, because settings are read before the first conftest is.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

TEST_HOME = Path(tempfile.mkdtemp(prefix="ratchet-test-"))
os.environ.update(
    {
        "COPILOT_HOME": str(TEST_HOME),
        "REDIS_URL": f"unix://{TEST_HOME}/redis/redis.sock",
        "DATABASE_URL": os.environ.get("COPILOT_TEST_DATABASE_URL", ""),
        "COPILOT_LEASE_SECONDS": "3",
        "COPILOT_HEARTBEAT_SECONDS": "1",
        "COPILOT_TEST_TOOLS": "1",
        "COPILOT_TEST_APPS": "tests.durable.testjobs",
    }
)
for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "CELERY_BROKER_URL", "COPILOT_PRODUCTION", "DEBUG"):
    os.environ.pop(name, None)
atexit.register(shutil.rmtree, TEST_HOME, ignore_errors=True)
