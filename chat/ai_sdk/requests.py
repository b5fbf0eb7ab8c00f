"""Requests of AI SDK clients, by HTTP or websocket: answer a message, regenerate, continue after an approval."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import Http404

from chat import attachments, branches, sessions, turns
from chat.api.serializers import REGENERATE, AskForm, NewTurn, read, read_input
from chat.continuations import expect_turn
from chat.errors import NothingToRetry
from chat.model_choice import check_pick
from chat.models import Message, Session, Turn
from chat.sessions import UUID_FORM, BadKey, Owner
from chat.turns import Input, Submitted
from durable.errors import InvalidFields
from durable.ids import new_id
from executions import limits as executions_limits
from executions.models import Review
from executions.reviews import decisions
from tools.models import Operation


@dataclass(frozen=True, kw_only=True)
class UserMessage:
    """The last message of the request, which is to be answered."""

    id: str | None
    text: str
    files: list[dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Approval:
    """A person's answer to a `tool-approval-request`."""

    review_id: str
    approved: bool
    reason: str

    @property
    def text(self) -> str:
        decision = "I approved it. Go on." if self.approved else "I rejected it."
        return f"{decision} {self.reason}".strip()


def submit(owner: Owner, data: Any, *, session: Session | None = None) -> Submitted:
    """Start the turn that the request asks for.

    Idempotent per message: without a client_id the message's id takes its place, so a proxy may repeat a request.
    """
    request = read(AskForm, data)
    if request["trigger"] == REGENERATE:
        return regenerate(owner, session or open_session(owner, request, create=False), request)
    if approvals := approvals_in(assistant_parts(request)):
        return decide(owner, session or open_session(owner, request, create=False), approvals)
    message = last_message(request)
    given = as_input(owner, request, message)
    session = session or open_session(owner, request, create=True)
    edited = edited_message(session, request, message)
    if edited is not None and edited.text != given.text:
        return turns.regenerate(session, message_id=edited.pk, edited=given)
    return turns.submit(session, given)


def open_session(owner: Owner, request: dict[str, Any], *, create: bool) -> Session:
    key = request.get("id") or str(new_id())
    try:
        if not create:
            return sessions.find(owner, key)
        return sessions.find_or_create(owner, key, model=check_pick(owner.user, request.get("model")))
    except BadKey as error:
        raise InvalidFields({"id": [str(error)]}) from None


# --- messages -------------------------------------------------------------------------------------


def last_message(request: dict[str, Any]) -> UserMessage:
    message = request.get("message")
    if isinstance(message, str):
        return UserMessage(id=None, text=message, files=[])
    if message is None and request.get("messages"):
        message = request["messages"][-1]
    if not isinstance(message, dict):
        raise InvalidFields({"messages": ["Send `messages` (the last one is answered) or `message`."]})
    if message.get("role", Message.Role.USER) != Message.Role.USER:
        raise InvalidFields({"messages": ["The last message must be one of the user's."]})
    parts = parts_of(message)
    texts = [
        part["text"] for part in parts if part.get("type") == "text" and isinstance(part.get("text"), str)
    ]
    files = [part for part in parts if part.get("type") == "file" and isinstance(part.get("url"), str)]
    name = message.get("id")
    is_usable = isinstance(name, str) and 0 < len(name) <= executions_limits.MAX_CLIENT_ID_CHARACTERS
    return UserMessage(id=name if is_usable else None, text="\n".join(texts), files=files)


def parts_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    parts = message.get("parts")
    if parts is None and isinstance(message.get("content"), str):
        return [{"type": "text", "text": message["content"]}]
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise InvalidFields({"messages": ["`parts` of a message must be a list of objects."]})
    return parts


def as_input(owner: Owner, request: dict[str, Any], message: UserMessage) -> Input:
    """Validate like any other message; files inside the message are saved only once the rest is valid."""
    client_id = request.get("client_id") or message.id
    form = {
        "message": message.text,
        "client_id": client_id,
        "while_running": request.get("while_running", Turn.Mode.QUEUE),
        "attachments": [*request.get("attachments", []), *(new_id() for _ in message.files)],
        "context": request.get("context"),
        "model": request.get("model"),
    }
    if message.files:
        read(NewTurn, form)
        files = attachments.save_all(owner, message.files, key=client_id or str(new_id()))
        form["attachments"] = [*request.get("attachments", []), *files]
    return read_input(owner, form)


# --- answering again ------------------------------------------------------------------------------


def regenerate(owner: Owner, session: Session, request: dict[str, Any]) -> Submitted:
    name = request.get("messageId")
    message_id = find_message(session, name) if name else None
    if name and message_id is None:
        raise NothingToRetry
    return turns.regenerate(
        session,
        message_id=message_id,
        client_id=request.get("client_id"),
        model=check_pick(owner.user, request.get("model")),
    )


def edited_message(session: Session, request: dict[str, Any], message: UserMessage) -> Message | None:
    """Return the stored message that is sent again, perhaps with another text: `messageId` names it."""
    name = request.get("messageId")
    if not name or name != message.id:
        return None
    message_id = find_message(session, name)
    if message_id is None:
        return None
    siblings = branches.siblings_of_message(session, message_id)
    current = session.messages.filter(turn__in=siblings, turn__superseded_at=None)
    return current.filter(role=Message.Role.USER, steered_step=None).first()


def find_message(session: Session, name: str) -> uuid.UUID | None:
    """Return a message by our id, or a person's message by the id their client gave it."""
    if UUID_FORM.fullmatch(name) and session.messages.filter(pk=name).exists():
        return uuid.UUID(name)
    sent = Message.objects.filter(turn__session=session, turn__client_id=name, role=Message.Role.USER)
    return sent.values_list("pk", flat=True).first()


# --- approvals ------------------------------------------------------------------------------------


def assistant_parts(request: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the parts of the last message if it is the assistant's: clients send approvals back in it."""
    message = (request.get("messages") or [{}])[-1]
    return parts_of(message) if message.get("role") == Message.Role.ASSISTANT else []


def approvals_in(parts: Sequence[dict[str, Any]]) -> list[Approval]:
    given = [part.get("approval") for part in parts if part.get("state") == "approval-responded"]
    return [
        Approval(
            review_id=str(approval.get("id")),
            approved=approval.get("approved") is True,
            reason=str(approval.get("reason") or "")[: executions_limits.MAX_REVIEW_MESSAGE_CHARACTERS],
        )
        for approval in given
        if isinstance(approval, dict)
    ]


def decide(owner: Owner, session: Session, approvals: Sequence[Approval]) -> Submitted:
    """Decide the reviews that still wait and start a turn. Idempotent: the turn's client_id names its review."""
    ids = {approval.review_id for approval in approvals}
    mine = Review.objects.filter(user=owner.user, pk__in=filter(UUID_FORM.fullmatch, ids))
    reviews = {str(review.pk): review for review in mine}
    if owner.user is None or reviews.keys() != ids:
        raise Http404
    undecided = [
        approval for approval in approvals if reviews[approval.review_id].state == Review.State.WAITING
    ]
    for approval in undecided:
        review = reviews[approval.review_id]
        decisions.decide(review, approved=approval.approved, message=approval.reason, by=owner.user)
    newest = (undecided or approvals)[-1]
    held = Operation.objects.filter(session_id=session.pk, review_id=newest.review_id).first()
    if held is not None:  # it runs by itself; its result starts the turn
        return Submitted(turn=expect_turn(session.pk, held.pk), created=True)
    return turns.submit(session, Input(text=newest.text, client_id=f"approval:{newest.review_id}"))
