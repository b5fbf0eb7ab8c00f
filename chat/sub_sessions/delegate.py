"""Start a task in a new session, as an ordinary message."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass

from django.db import IntegrityError

from accounts.errors import OverBudget
from chat import sessions, turns
from chat.errors import NoModelForYou, TooManyTurns
from chat.models import Session, Turn
from chat.sessions import Owner
from chat.sub_sessions import names
from durable import crashpoints
from durable.database import in_transaction
from tools import limits
from tools.permissions import Permissions

NAMESPACE = uuid.UUID("8a6f2f0e-6c0a-5f5e-9d0b-3c1f5b7a4e21")  # of sessions and turns made under a key


class NoSuchSession(LookupError):
    """The session to continue does not exist, or may not be continued from here."""


class SubSessionTooDeep(Exception):
    """Sub-sessions are nested deeper than allowed."""


@dataclass(frozen=True, kw_only=True)
class TaskRequest:
    """A task. `key` makes it idempotent: the same key is the same session and the same turn."""

    key: str
    owner: Owner
    prompt: str
    system_context: str = ""
    parent: Session | None = None
    permissions: Permissions
    max_depth: int = limits.MAX_SESSION_DEPTH
    continues: str = ""  # id of an existing session
    may_continue: Callable[[Session], bool] = lambda session: True
    execution_id: uuid.UUID | None = None
    outside_sources: tuple[str, ...] = ()  # outside content that the caller has read

    @property
    def name(self) -> uuid.UUID:
        return uuid.uuid5(NAMESPACE, self.key)


def start(request: TaskRequest) -> Turn:
    """Commit the task and poke. Idempotent per key, across crashes.

    Raises NoSuchSession, SubSessionTooDeep, TooManyTurns, NoModelForYou or OverBudget; then nothing was started.
    """
    session = find(request) if request.continues else find_or_create(request)
    given = turns.Input(
        text=request.prompt,
        client_id=f"{names.TASK}{request.name}",
        note=request.system_context,
        permissions=request.permissions.as_json(),
        execution_id=request.execution_id,
        outside_sources=request.outside_sources,
    )
    crashpoints.reached("sub_session_opened")
    try:
        turn = turns.submit(session, given).turn
    except (OverBudget, TooManyTurns, NoModelForYou):
        drop_if_empty(session)
        raise
    except Session.DoesNotExist:
        raise NoSuchSession from None  # deleted meanwhile
    crashpoints.reached("sub_session_started")
    return turn


def find(request: TaskRequest) -> Session:
    """Return the session to continue; raise NoSuchSession, also for another owner's."""
    try:
        name = uuid.UUID(request.continues)
    except ValueError:
        raise NoSuchSession from None
    session = request.owner.sessions().select_related("user").filter(pk=name).first()
    if session is None or not request.may_continue(session):
        raise NoSuchSession
    return session


def find_or_create(request: TaskRequest) -> Session:
    mine = request.owner.sessions().select_related("user").filter(pk=request.name)
    if found := mine.first():
        return found
    depth = request.parent.depth + 1 if request.parent else 1
    if depth > min(request.max_depth, limits.MAX_SESSION_DEPTH):
        raise SubSessionTooDeep
    try:
        return in_transaction(sessions.create)(
            request.owner,
            permissions=request.permissions.as_json(),
            id=request.name,
            parent=request.parent,
            model=request.parent.model if request.parent else "",
            depth=depth,
        )
    except IntegrityError:  # created meanwhile by the same call in another attempt
        found = mine.first()
    if found is None:
        raise NoSuchSession
    return found


@in_transaction
def drop_if_empty(session: Session) -> None:
    """Delete the session of a first task that was refused."""
    turns.lock(session)
    if not session.turns.exists():
        sessions.delete(session)


def descends_from(ancestor: Session, session: Session) -> bool:
    """Return whether the session was started from that one, directly or through others."""
    for _ in range(limits.MAX_SESSION_DEPTH):
        if session.parent is None:
            return False
        if session.parent_id == ancestor.pk:
            return True
        session = session.parent
    return False
