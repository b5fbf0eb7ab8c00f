"""People to test with, and threads that really race."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

import pytest
from django.db import connection
from pytest_django import Settings

from accounts.models import User

T = TypeVar("T")
PASSWORD = "correct horse battery staple"
RACE_SECONDS = 60


@pytest.fixture(autouse=True)
def fast_passwords(settings: Settings) -> None:
    """The real hasher takes half a second a try on purpose; no test here is about it."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def ada(db: None) -> User:
    return User.objects.create_user("ada", email="ada@example.org", password=PASSWORD)


@pytest.fixture
def bob(db: None) -> User:
    return User.objects.create_user("bob", password=PASSWORD)


def race(action: Callable[[], T], runners: int = 8) -> list[T]:
    """Run `action` in that many threads, all let loose at the same moment; what each returned."""
    gate, results, errors = threading.Barrier(runners), [], []

    def run() -> None:
        try:
            gate.wait(timeout=RACE_SECONDS)
            results.append(action())
        except BaseException as error:  # noqa: BLE001 - raised again in the test's own thread
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run) for _ in range(runners)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=RACE_SECONDS)
    if errors:
        raise errors[0]
    assert len(results) == runners, "a runner never came back"
    return results
