"""Stacks for tests from outside: one shared for gentle tests, a fresh one for those that kill things."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.harness import Kinds, Stack, running_stack

PATIENCE = 3.0  # of a deployment: each machine starts several processes


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--stack") == "deployment":
        from tests.system.deployment.stack import DeployedStack

        Kinds.chosen, Kinds.patience = DeployedStack, PATIENCE


@pytest.fixture(scope="session")
def short_tmp() -> Iterator[Path]:
    """A folder with a short path: unix sockets have little room for theirs."""
    path = Path(tempfile.mkdtemp(prefix="rt-"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="session")
def stack(short_tmp: Path) -> Iterator[Stack]:
    with running_stack(short_tmp / "shared", workers=1, webs=2) as running:
        yield running


@pytest.fixture
def new_stack(short_tmp: Path, request: pytest.FixtureRequest) -> Iterator[Callable[..., Stack]]:
    """Start a stack of the test's own."""
    with ExitStack() as stacks:
        count = 0

        def start(**options: Any) -> Stack:
            nonlocal count
            count += 1
            home = short_tmp / f"{abs(hash(request.node.nodeid)) % 10**8}-{count}"
            return stacks.enter_context(running_stack(home, **options))

        yield start
