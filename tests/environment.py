"""The environment of every test run: a home folder of its own, and nothing of the machine's.

Loaded by `-p` in pyproject.toml, because settings are read before the first conftest is.
"""

from __future__ import annotations

import atexit
import logging
import math
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import hypothesis
import pytest
from django.core.signals import setting_changed

from tests.tiers import Examples, is_only_in_all

SLOW = {"system", "launcher", "ops"}
UUID_TEXT = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}")
MAX_ID_CHARACTERS = 200
PACES = {"COPILOT_HEARTBEAT_SECONDS", "COPILOT_SWEEP_SECONDS"}  # of threads that last as long as the process
SLOW_MACHINE = [hypothesis.HealthCheck.too_slow]  # how fast is not what these tests ask
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
MODELS = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_DIALECT", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")
for name in (*MODELS, "CELERY_BROKER_URL", "COPILOT_PRODUCTION", "DEBUG"):
    os.environ.pop(name, None)
atexit.register(shutil.rmtree, TEST_HOME, ignore_errors=True)


def pytest_configure(config: pytest.Config) -> None:
    """A line for each request of a test that polls would bury what is worth reading of a failure."""
    logging.getLogger("httpx").setLevel(logging.WARNING)
    hypothesis.settings.register_profile("any_machine", deadline=None, suppress_health_check=SLOW_MACHINE)
    hypothesis.settings.load_profile("any_machine")
    setting_changed.connect(refuse_another_pace)
    Examples.share = Examples.shares.get(config.getoption("--tier"), 1.0)


def refuse_another_pace(*, setting: str, enter: bool, **kwargs: object) -> None:
    """Fail a test that changes how often the heartbeat of this process beats.

    Its thread outlives the test: asleep for the longer interval, it would not tell the jobs of later tests that
    they were lost.
    """
    if enter and setting in PACES:
        raise AssertionError(f"{setting} is for processes that a test starts: give it to them.")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return True if config.getoption("--tier") == "fast" and is_only_in_all(collection_path) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take minutes come first: begun last, one of them would hold up the end while other cores are idle."""
    items.sort(key=lambda item: SLOW.isdisjoint(item.path.parts))


@pytest.fixture(autouse=True)
def _no_endpoint_rows() -> Iterator[None]:
    """Every test begins without model endpoints of the admin; a row that it saves is read, as in the product.

    Rows that others save are not looked for: a test may have no database, or count its statements.
    """
    from llm import endpoint_rows

    endpoint_rows.remember(endpoint_rows.EndpointRows(), read_at=math.inf)
    yield
    endpoint_rows.remember(endpoint_rows.EndpointRows(), read_at=math.inf)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failure of a test with processes of its own shows what they said."""
    report = yield
    if report.failed and (harness := sys.modules.get("tests.harness")):
        report.sections += harness.last_words()
    return report


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--stack",
        choices=("small", "deployment"),
        default="small",
        help="What tests from outside run against: everything small, or the roles of docker/entrypoint "
        "behind a proxy on PostgreSQL, RabbitMQ and Redis.",
    )
    parser.addoption(
        "--tier",
        choices=("fast", "all", "named"),
        default="named",
        help="fast: leave out what tests/tiers.py lists. Property tests try fewer examples in fast and all.",
    )


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Names that are short and the same in every process of a run: an id is random, bytes may hold a time."""
    changes = isinstance(val, bytes) or (isinstance(val, str) and UUID_TEXT.search(val))
    too_long = isinstance(val, str) and len(val) > MAX_ID_CHARACTERS
    return argname if changes or too_long else None
