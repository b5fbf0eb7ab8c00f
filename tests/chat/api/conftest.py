"""People, their sessions, and clients that speak for them; Redis is real."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

from accounts.models import User
from chat import turns
from chat.models import Session, Turn
from chat.turns import Input


@pytest.fixture(autouse=True)
def real_redis(redis_server: object) -> None:
    """Every test here pokes and rings."""


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
def api(ada: User) -> APIClient:
    """Ada's client."""
    return client_of(ada)


@pytest.fixture
def bobs_api(bob: User) -> APIClient:
    return client_of(bob)


@pytest.fixture
def session(ada: User) -> Session:
    return Session.objects.create(user=ada)


@pytest.fixture
def send(session: Session) -> Callable[..., Turn]:
    """Put a message in, as Ada."""

    def sending(text: str = "Hello", **more: object) -> Turn:
        return turns.submit(session, Input(text=text, **more)).turn  # type: ignore[arg-type]

    return sending


def client_of(user: User) -> APIClient:
    client = APIClient()
    client.force_login(user)
    return client
