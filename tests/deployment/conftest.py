"""What tests of a deployment share."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.services import broker, database

__all__ = ["broker", "database"]


@pytest.fixture(scope="module")
def short_tmp() -> Iterator[Path]:
    """A folder with a short path: unix sockets have little room for theirs."""
    path = Path(tempfile.mkdtemp(prefix="rd-"))
    yield path
    shutil.rmtree(path, ignore_errors=True)
