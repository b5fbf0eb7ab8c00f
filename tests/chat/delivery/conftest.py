"""A session with a turn in it, and Redis for real."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from pytest_django import Settings

from accounts.models import User
from chat import turns
from chat.models import Session, Turn
from chat.turns import Input
from tests.chat.delivery.live_server import LiveServer


@pytest.fixture(autouse=True)
def real_redis(redis_server: object) -> None:
    """Every test here reads what was really sent."""


@pytest.fixture(autouse=True)
def fast_passwords(settings: Settings) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def ada(transactional_db: None) -> User:
    return User.objects.create_user("ada", password="correct horse battery")


@pytest.fixture
def bob(transactional_db: None) -> User:
    return User.objects.create_user("bob", password="correct horse battery")


@pytest.fixture
def session(ada: User) -> Session:
    return Session.objects.create(user=ada)


@pytest.fixture
def send(session: Session) -> Callable[..., Turn]:
    def sending(text: str = "Hello", **more: object) -> Turn:
        return turns.submit(session, Input(text=text, **more)).turn  # type: ignore[arg-type]

    return sending


@pytest.fixture
def turn(send: Callable[..., Turn]) -> Turn:
    return send()


@pytest.fixture
def server(transactional_db: None) -> Iterator[LiveServer]:
    """Our own server in a process of its own, on the test database."""
    with LiveServer() as started:
        yield started
