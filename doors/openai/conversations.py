"""Which session a request belongs to: a named one, one whose history the client repeats, or a hidden one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import IntegrityError
from django.http import Http404
from django.utils import timezone

from chat import sessions
from chat.engine import history as model_history
from chat.models import Message, Session, Turn
from chat.sessions import BadKey
from doors.openai import asked as asked_fields
from doors.openai import ids, limits
from doors.openai.access import Caller
from doors.openai.asked import ChatMessage, ClientAsk
from doors.openai.errors import UnusableRequest
from durable.database import in_transaction
from llm.carry import CARRY, VOLATILE

SESSION_HEADER = "X-Session-Id"
KEPT = ("role", "content", "tool_calls", "tool_call_id")


@dataclass(frozen=True, kw_only=True)
class OpenedConversation:
    """The session of a request; `history` replaces what it holds, None keeps it."""

    session: Session
    history: Sequence[ChatMessage] | None = None

    @property
    def keep_seconds(self) -> float | None:
        return limits.HIDDEN_SESSION_SECONDS if self.session.expires_at is not None else None


def open_conversation(caller: Caller, asked: ClientAsk, *, named: str, key: str) -> OpenedConversation:
    """Return the session of a request; `named` is the one its headers name, `key` identifies a hidden one."""
    if asked.previous_response_id:
        return after_response(caller, asked)
    if asked.conversation:
        session = find_named(caller, asked.conversation, param="conversation")
        is_new = not session.turns.exists()
        return OpenedConversation(session=session, history=asked.history or None if is_new else None)
    name = asked.metadata.get("session_id") or named
    if name:
        return repeated_in(find_named(caller, name, param="metadata.session_id"), asked)
    found = find_by_history(caller, asked.history) if asked.has_message else None
    if found is not None:
        return OpenedConversation(session=found)
    return OpenedConversation(session=hidden_session(caller, key), history=asked.history or None)


def find_named(caller: Caller, name: str, *, param: str) -> Session:
    """Return the session with this id or name, created if a client has just chosen the name."""
    own = ids.parse(name, ids.CONVERSATION)
    try:
        if own is not None:
            return sessions.find(caller.owner, str(own))
        return sessions.find_or_create(caller.owner, name)
    except BadKey as error:
        raise UnusableRequest(str(error), param=param) from None
    except Http404:
        raise UnusableRequest(
            "There is no such conversation.", param=param, code="conversation_not_found"
        ) from None


def repeated_in(session: Session, asked: ClientAsk) -> OpenedConversation:
    """Keep the session's history if the client repeats it or sends none; else take what the client sent."""
    if not asked.history or is_history_of(session, asked.history):
        return OpenedConversation(session=session)
    return OpenedConversation(session=session, history=asked.history)


def is_history_of(session: Session, history: Sequence[ChatMessage]) -> bool:
    """Return whether the session holds exactly these messages: the same inputs, and the answer they end with."""
    if session.history_hash != asked_fields.hash_of(history):
        return False
    newest = newest_turn(session)
    if newest is None or not newest.is_terminal:
        return False
    answer = Message.objects.filter(pk=newest.answer_id).values_list("text", flat=True).first()
    said = asked_fields.last_answer(history)
    return said is not None and said.strip() == (answer or "").strip()


def find_by_history(caller: Caller, history: Sequence[ChatMessage]) -> Session | None:
    """Return the session that holds exactly these messages, if there is one."""
    digest = asked_fields.hash_of(history)
    if not digest or asked_fields.last_answer(history) is None:
        return None
    same = caller.owner.sessions().select_related("user__budget").filter(history_hash=digest)
    candidates = same.order_by("-active_at")[: limits.SAME_HISTORY_CANDIDATES]
    return next((session for session in candidates if is_history_of(session, history)), None)


def newest_turn(session: Session) -> Turn | None:
    return session.turns.filter(superseded_at=None).order_by("-queued_at", "-id").first()


def hidden_session(caller: Caller, key: str) -> Session:
    """Create a session that is not listed and kept for a day. Once per key, for a request that names one."""
    until = timezone.now() + timedelta(seconds=limits.HIDDEN_SESSION_SECONDS)
    name = f"v1-{key[:48]}" if key else None
    try:
        return in_transaction(sessions.create)(caller.owner, client_key=name, expires_at=until)
    except IntegrityError:
        return sessions.find(caller.owner, name or "")


# --- after a response -----------------------------------------------------------------------------


def after_response(caller: Caller, asked: ClientAsk) -> OpenedConversation:
    """Go on after a response: in its session if it is the newest there, else in a copy that ends with it."""
    turn_id = ids.parse(asked.previous_response_id, ids.RESPONSE)
    turn = caller.owner.turns().filter(pk=turn_id).first() if turn_id else None
    if turn is None:
        raise UnusableRequest(
            f"Previous response with id {asked.previous_response_id[:100]!r} not found.",
            param="previous_response_id",
            code="previous_response_not_found",
        )
    newest = newest_turn(turn.session)
    if newest is not None and newest.pk == turn.pk:
        return OpenedConversation(session=turn.session)
    return OpenedConversation(session=hidden_session(caller, ""), history=history_until(turn))


def history_until(turn: Turn) -> list[ChatMessage]:
    """Return the conversation up to the answer of a turn, in the format of chat completions."""
    session = turn.session
    last = Message.objects.filter(pk=turn.answer_id).values_list("seq", flat=True).first()
    rows = model_history.recent(session)
    said = [message for seq, message in rows if last is not None and seq <= last]
    if session.summary:
        said.insert(0, {"role": "user", "content": model_history.summary_of(session)})
    return [plain(message) for message in said]


def plain(message: dict[str, Any]) -> ChatMessage:
    assert CARRY not in KEPT and VOLATILE not in KEPT
    return {name: message[name] for name in KEPT if name in message}
