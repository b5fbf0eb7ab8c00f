"""Create sessions, turns and leases for benchmarks, without a web process."""

from __future__ import annotations

import json
from typing import Any

from django.contrib.auth import get_user_model

from accounts.models import User
from chat import turns
from chat.models import Session, Turn
from durable import jobs
from durable.lease import Lease

OWNER = "bench"


def person(name: str = "ann") -> User:
    return get_user_model().objects.get_or_create(username=name)[0]


def new_session(user: User | None = None) -> Session:
    """Create a session with a title, so that no turn asks the model for one."""
    return Session.objects.create(user=user or person(), title="bench", titled_by=Session.TitledBy.USER)


def queued_turn(session: Session, text: str = "hello") -> Turn:
    """Create a turn without poking a worker."""
    return turns.write(session, turns.Input(text=text))


def claimed_turn(session: Session, text: str = "hello") -> Lease:
    """Create a running turn, as if this process were its worker."""
    lease = jobs.claim(Turn, queued_turn(session, text).pk, owner=OWNER)
    assert lease is not None
    return lease


def script(*steps: dict[str, Any], name: str = "") -> str:
    """Return a message that tells the offline model what to answer."""
    return "SCRIPT:\n" + json.dumps({"steps": list(steps)} | ({"id": name} if name else {}))
