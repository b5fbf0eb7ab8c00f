"""Actions on sessions, and their owners: create, find, rename, delete, claim."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Now
from django.http import Http404

from accounts.models import User
from chat import admission, limits, notifications, turns
from chat.models import Session, Turn
from chat.sub_sessions import callbacks
from durable import event_log, plain_sql
from durable.database import in_transaction
from durable.models import EventPage
from tools import limits as tools_limits
from tools.models import FollowUp, Operation, TodoList, ToolCall
from tools.operations.cancellation import stop_all as stop_operations
from tools.permissions import Permissions
from webhooks import notices
from webhooks.deliveries import forget_delivered

UUID_FORM = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
KEY_FORM = re.compile(rf"[^/\x00-\x1f\x7f\ud800-\udfff]{{1,{limits.MAX_CLIENT_KEY_CHARACTERS}}}")


@dataclass(frozen=True, kw_only=True)
class Owner:
    """A user or a visitor without an account. Views reach rows only through its querysets."""

    user: User | None = None
    visitor_id: uuid.UUID | None = None

    @property
    def name(self) -> str:
        """The name in Session.owner, by which their devices are addressed."""
        return f"user:{self.user.pk}" if self.user else f"visitor:{self.visitor_id}"

    def sessions(self) -> QuerySet[Session]:
        return Session.objects.filter(self._mine())

    def turns(self) -> QuerySet[Turn]:
        return Turn.objects.filter(self._mine("session__")).select_related("session", "session__user")

    def _mine(self, prefix: str = "") -> Q:
        if self.user is not None:
            return Q(**{f"{prefix}user": self.user})
        if self.visitor_id is not None:
            return Q(**{f"{prefix}user": None, f"{prefix}visitor_id": self.visitor_id})
        return Q(pk__in=[])


class BadKey(ValueError):
    """A session's id has 1 to 64 characters, none of them a slash or a control character."""

    def __init__(self) -> None:
        super().__init__(self.__doc__)


def create(
    owner: Owner, *, title: str = "", permissions: dict[str, Any] | None = None, **fields: Any
) -> Session:
    """Create a session of this owner."""
    allowed = Permissions.parse(permissions)
    session = Session.objects.create(
        user=owner.user,
        visitor_id=None if owner.user else owner.visitor_id,
        title=title,
        titled_by=Session.TitledBy.USER if title else Session.TitledBy.NOBODY,
        permissions=allowed.as_json(),
        **fields,
    )
    notifications.session_changed(session)
    return session


def find(owner: Owner, key: str) -> Session:
    """Return the owner's session by its id or the key its client chose; raise Http404, also for another's."""
    try:
        if owner.user is not None and UUID_FORM.fullmatch(key):
            found: Session = next(iter(_of_user(owner.user.pk, uuid.UUID(key))))
            return found
        return owner.sessions().select_related("user__budget").get(**by_key(key))
    except (Session.DoesNotExist, StopIteration):
        raise Http404 from None


_of_user: plain_sql.PreparedSelect[Session] = plain_sql.PreparedSelect(
    lambda user_id, key: Session.objects.filter(user_id=user_id, pk=key).select_related("user__budget"),
    2**62 + 1,
    uuid.uuid4(),
)


def find_or_create(owner: Owner, key: str, *, model: str = "") -> Session:
    """Return the session with this id or client key, created with this model if it is new. Two concurrent calls create
    one."""
    if not KEY_FORM.fullmatch(key):
        raise BadKey
    try:
        return find(owner, key)
    except Http404:
        pass
    try:
        return in_transaction(create)(owner, model=model, **by_key(key))
    except IntegrityError:
        return find(owner, key)  # created meanwhile; another owner's id is still not found


def by_key(key: str) -> dict[str, Any]:
    return {"pk": uuid.UUID(key)} if UUID_FORM.fullmatch(key) else {"client_key": key}


def change(
    session: Session, *, title: str | None = None, pinned: bool | None = None, model: str | None = None
) -> Session:
    """Rename or pin a session, or pick its model. A title the person gave is never replaced by a generated one."""
    if title is not None:
        session.title = title
        session.titled_by = Session.TitledBy.USER if title else Session.TitledBy.NOBODY
    if pinned is not None:
        session.pinned = pinned
    if model is not None:
        session.model = model
    session.save(update_fields=["title", "titled_by", "pinned", "model"])
    notifications.session_changed(session)
    return session


def mark_read(session: Session) -> None:
    """Note that its person has seen its end, and tell their other devices if it was unread."""
    unread = Session.objects.filter(pk=session.pk).filter(is_unread())
    was_unread = unread.exists()
    Session.objects.filter(pk=session.pk).update(read_at=Now())
    newest = session.turns.filter(superseded_at=None).order_by("-queued_at").first()
    if newest is not None and newest.is_terminal:
        notices.withdraw(session.user_id, "turn", newest.pk)
    if was_unread:
        notifications.session_changed(session)


def is_unread() -> Q:
    """Return the condition for sessions whose newest answer came after they were last read.

    Tasks of other conversations and agents are nobody's to read.
    """
    turns_of_session = Turn.objects.filter(session=OuterRef("pk"), superseded_at=None)
    answered = Subquery(turns_of_session.order_by("-queued_at").values("ended_at")[:1])
    return Q(depth=0, read_at__lt=answered)


def delete_expired(most: int) -> int:
    """Delete hidden sessions whose time is over, unless something in them still runs or waits; return how many."""
    live_turns = Turn.objects.filter(session=OuterRef("pk"), status__in=Turn.LIVE)
    waiting = Operation.live().filter(session_id=OuterRef("pk"))
    over = Session.objects.filter(~Exists(live_turns), ~Exists(waiting), expires_at__lt=Now())
    found = list(over.order_by("expires_at")[:most])
    for session in found:
        delete(session)
    return len(found)


def delete(session: Session) -> None:
    """Stop what runs in the session and delete it with everything in it."""
    for turn in session.turns.filter(status__in=Turn.LIVE):
        admission.stop_awaited(turn)
        turns.stop(turn)
    stop_operations(session.pk)
    waiting = callbacks.who_waits_for(session)
    ids = list(session.turns.values_list("pk", flat=True))
    _delete_rows(session, ids, waiting)
    for turn_id in ids:
        event_log.nudge(turn_id)


@in_transaction
def _delete_rows(session: Session, turn_ids: Sequence[uuid.UUID], waiting: callbacks.Waiting) -> None:
    """Delete the rows; locks the session and its turns first, in the order in which claims lock them."""
    list(Session.objects.select_for_update().filter(pk=session.pk).values_list("pk"))
    list(Turn.objects.select_for_update().filter(session=session.pk).order_by("pk").values_list("pk"))
    EventPage.objects.filter(job_id__in=turn_ids).delete()
    Operation.objects.filter(session_id=session.pk).delete()
    ToolCall.objects.filter(session_id=session.pk).delete()
    TodoList.objects.filter(pk=session.pk).delete()
    FollowUp.objects.filter(session_id=session.pk, fresh=False).delete()
    forget_delivered(session.user_id, session.pk)
    notifications.session_changed(session, deleted=True)
    Session.objects.filter(pk=session.pk).delete()
    waiting.call_back()


def claim(user: User, visitor_id: uuid.UUID | None, key: str) -> Session:
    """Give a visitor's session and its sub-sessions to the user. Idempotent."""
    owner = Owner(user=user)
    visitor = Owner(visitor_id=visitor_id)
    try:
        return find(owner, key)
    except Http404:
        session = find(visitor, key)
    _change_owner(session, visitor, owner)
    session = find(owner, str(session.pk))
    notifications.session_changed(session)
    return session


@in_transaction
def _change_owner(session: Session, visitor: Owner, owner: Owner) -> None:
    user = owner.user
    family = [session.pk]
    for _ in range(tools_limits.MAX_SESSION_DEPTH):
        family += (
            visitor.sessions().filter(parent__in=family).exclude(pk__in=family).values_list("pk", flat=True)
        )
    taken = owner.sessions().exclude(client_key=None).values("client_key")
    visitor.sessions().filter(pk__in=family, client_key__in=taken).update(client_key=None)
    visitor.sessions().filter(pk__in=family).update(user=user, visitor_id=None)
    Turn.objects.filter(session__in=family).update(user=user)
    ToolCall.objects.filter(session_id__in=family).update(user=user)
    Operation.objects.filter(session_id__in=family).update(user=user)
