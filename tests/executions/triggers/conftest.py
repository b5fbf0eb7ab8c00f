"""A person whose agents are called from outside, and a caller."""

from __future__ import annotations

import hashlib
import hmac
import json
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client
from standardwebhooks import Webhook

from accounts.models import User
from executions.models import Agent
from executions.triggers.actions import NewTrigger, TriggerSecrets, create
from tests.executions.people import (
    ada,
    as_ada,
    bob,
    greeter_graph,
    hook_graph,
    import_valid,
    operator,
)

__all__ = ["ada", "as_ada", "bob", "operator"]
BODY = {"order": 7}


@pytest.fixture
def called(ada: User) -> Agent:
    """An agent with a trigger block."""
    return import_valid(ada, hook_graph())


@pytest.fixture
def greeter(ada: User) -> Agent:
    """An agent with inputs and no trigger block."""
    return import_valid(ada, greeter_graph())


def make(agent: Agent, **more: Any) -> TriggerSecrets:
    return create(agent.user, NewTrigger(agent=agent, name="Orders", **more))


def call(
    shown: TriggerSecrets,
    body: Any = BODY,
    headers: dict[str, str] | None = None,
    content_type: str = "application/json",
) -> Any:
    """As another system does: no login, and CSRF checked as in production."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    path = urlsplit(shown.url).path
    client = Client(enforce_csrf_checks=True)
    return client.post(path, raw, content_type=content_type, headers=headers or {})


def standard(secret: str, body: Any = BODY, *, call_id: str = "msg_1", age: float = 0) -> dict[str, str]:
    at = datetime.now(UTC) - timedelta(seconds=age)
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return {
        "webhook-id": call_id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(secret).sign(call_id, at, raw.decode()),
    }


def github(secret: str, body: Any = BODY) -> dict[str, str]:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return {"X-Hub-Signature-256": "sha256=" + hmac.new(secret.encode(), raw, hashlib.sha256).hexdigest()}
