"""Giving a task to a session of its own, through the same door as every message."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass

from django.db import IntegrityError

from accounts.ledger import OverBudget
from chat import sessions, turns
from chat.errors import TooManyTurns
from chat.models import Session, Turn
from chat.owners import Owner
from chat.sub_sessions import names
from durable import crashpoints, limits
from durable.retrying import in_transaction
from tools.permissions import Permissions

NAMES = uuid.UUID("8a6f2f0e-6c0a-5f5e-9d0b-3c1f5b7a4e21")  # of sessions and turns made under a key


class NoSuchSession(LookupError):
    """There is no such session that could be gone on with."""


class TooDeep(Exception):
    """Sessions start sessions start sessions ..."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """A task. `key` names the wish: with the same key it is the same session and the same turn."""

    key: str
    owner: Owner
    prompt: str
    system_context: str = ""
    parent: Session | None = None
    permissions: Permissions
    max_depth: int = limits.MAX_SESSION_DEPTH
    continues: str = ""  # the id of a session that is there already
    may_continue: Callable[[Session], bool] = lambda session: True
    execution_id: uuid.UUID | None = None
    outside_sources: tuple[str, ...] = ()  # what was read from outside by whoever hands it over

    @property
    def name(self) -> uuid.UUID:
        return uuid.uuid5(NAMES, self.key)


def start(order: Order) -> Turn:
    """Commit the task and poke. Once per key, whatever dies in between.

    Raises NoSuchSession, TooDeep, TooManyTurns or OverBudget; then nothing was started.
    """
    session = find(order) if order.continues else find_or_open(order)
    given = turns.Input(
        text=order.prompt,
        client_id=f"{names.TASK}{order.name}",
        note=order.system_context,
        permissions=order.permissions.as_json(),
        execution_id=order.execution_id,
        outside_sources=order.outside_sources,
    )
    crashpoints.reached("sub_session_opened")
    try:
        turn = turns.submit(session, given).turn
    except (OverBudget, TooManyTurns):
        drop_if_empty(session)
        raise
    except Session.DoesNotExist:
        raise NoSuchSession from None  # deleted meanwhile
    crashpoints.reached("sub_session_started")
    return turn


def find(order: Order) -> Session:
    """The owner's session that is to be gone on with; what is another's is as if it did not exist."""
    try:
        name = uuid.UUID(order.continues)
    except ValueError:
        raise NoSuchSession from None
    session = order.owner.sessions().select_related("user").filter(pk=name).first()
    if session is None or not order.may_continue(session):
        raise NoSuchSession
    return session


def find_or_open(order: Order) -> Session:
    mine = order.owner.sessions().select_related("user").filter(pk=order.name)
    if found := mine.first():
        return found
    depth = order.parent.depth + 1 if order.parent else 1
    if depth > min(order.max_depth, limits.MAX_SESSION_DEPTH):
        raise TooDeep
    try:
        return in_transaction(sessions.create)(
            order.owner,
            permissions=order.permissions.as_json(),
            id=order.name,
            parent=order.parent,
            depth=depth,
        )
    except IntegrityError:  # opened meanwhile, by the same call in another attempt
        found = mine.first()
    if found is None:
        raise NoSuchSession
    return found


@in_transaction
def drop_if_empty(session: Session) -> None:
    """A session whose first task was refused was never there."""
    turns.lock(session)
    if not session.turns.exists():
        sessions.delete(session)


def descends_from(ancestor: Session, session: Session) -> bool:
    """Whether a session was started from that one, or from one that was."""
    for _ in range(limits.MAX_SESSION_DEPTH):
        if session.parent is None:
            return False
        if session.parent_id == ancestor.pk:
            return True
        session = session.parent
    return False
