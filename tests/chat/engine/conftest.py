"""A turn run in this process: real model server, real Redis, real rows; only the worker's shell is left out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pytest_django import Settings

from accounts.models import User
from chat import engine, turns
from chat.models import Session, Turn
from durable.runtime import runtime
from tests.offline_server import OfflineServer


@pytest.fixture(scope="session")
def model_server() -> Iterator[OfflineServer]:
    with OfflineServer() as server:
        yield server


@pytest.fixture
def model(model_server: OfflineServer, settings: Settings, redis_server: object) -> OfflineServer:
    settings.OPENAI_BASE_URL = model_server.url
    settings.OPENAI_API_KEY = "offline"
    settings.COPILOT_MODEL = "offline"
    model_server.reset()
    return model_server


@pytest.fixture
def session(transactional_db: None) -> Session:
    return Session.objects.create(user=User.objects.create_user("ann"))


@pytest.fixture
def send(session: Session, model: OfflineServer) -> Callable[..., Turn]:
    """Submit a message (or a script for the model) and run its turn to the end."""

    def sending(text: str | dict[str, Any], **more: Any) -> Turn:
        if not isinstance(text, str):
            text = "SCRIPT:\n" + json.dumps(text)
        turn = turns.submit(session, turns.Input(text=text, **more)).turn
        run_turn(turn)
        return turn

    return sending


def run_turn(turn: Turn) -> None:
    runtime().run(Turn, turn.pk, engine.run)
    turn.refresh_from_db()
