"""The settings as the type checker reads them: with the apps that exist only for tests."""

import os

os.environ["COPILOT_TEST_TOOLS"] = "1"
os.environ["COPILOT_TEST_APPS"] = "tests.durable.testjobs"

from copilot_project.settings import *  # noqa: F403
