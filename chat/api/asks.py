"""What an AI SDK client asks for, by HTTP or websocket: to answer a message, or anew, or to go on after an approval."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from chat import attachments, sessions, turns
from chat.api import approvals
from chat.api.fields import Text, read
from chat.api.serializers import NewTurn
from chat.api.turns import read_input
from chat.errors import NothingToRetry
from chat.models import Message, Session, Turn
from chat.owners import Owner
from chat.sessions import UUID_FORM, BadKey
from chat.turns import Input, Submitted
from durable import limits
from durable.ids import new_id

SUBMIT, REGENERATE = "submit-message", "regenerate-message"


class AskForm(serializers.Serializer[Any]):
    """The body of `useChat` (ai 6 and 7), or the plain form with `message`; fields an app adds are ignored."""

    id = Text(
        max_length=limits.MAX_CLIENT_KEY_CHARACTERS, required=False, help_text="The session; made when new."
    )
    trigger = serializers.ChoiceField([SUBMIT, REGENERATE], required=False, default=SUBMIT)
    messageId = Text(max_length=200, required=False, allow_null=True, allow_blank=True)
    messages = serializers.ListField(child=serializers.DictField(), required=False, allow_null=True)
    message = serializers.JSONField(required=False, allow_null=True, help_text="A text, or one UIMessage.")
    client_id = Text(max_length=limits.MAX_CLIENT_ID_CHARACTERS, required=False, allow_null=True)
    while_running = serializers.ChoiceField(Turn.Mode.choices, required=False)
    attachments = serializers.ListField(child=serializers.UUIDField(), required=False)
    context = serializers.JSONField(required=False, allow_null=True)  # type: ignore[assignment]


@dataclass(frozen=True, kw_only=True)
class Said:
    """The last message a client has."""

    id: str | None
    text: str
    files: list[dict[str, Any]]


def submit(owner: Owner, data: Any, *, session: Session | None = None) -> Submitted:
    """Do what was asked. Once per message: its id is the client_id where none is given, so a proxy may ask twice."""
    ask = read(AskForm, data)
    if ask["trigger"] == REGENERATE:
        return regenerate(session or open_session(owner, ask, create=False), ask)
    if answers := approvals.answers_in(answered_parts(ask)):
        return approvals.decide(owner, session or open_session(owner, ask, create=False), answers)
    said = last_said(ask)
    given = as_input(owner, ask, said)
    session = session or open_session(owner, ask, create=True)
    edited = edited_message(session, ask, said)
    if edited is not None and edited.text != given.text:
        return turns.regenerate(session, message_id=edited.pk, edited=given)
    return turns.submit(session, given)


def open_session(owner: Owner, ask: dict[str, Any], *, create: bool) -> Session:
    key = ask.get("id") or str(new_id())
    try:
        return sessions.find_or_create(owner, key) if create else sessions.find(owner, key)
    except BadKey as error:
        raise ValidationError({"id": [str(error)]}) from None


def regenerate(session: Session, ask: dict[str, Any]) -> Submitted:
    name = ask.get("messageId")
    message_id = message_named(session, name) if name else None
    if name and message_id is None:
        raise NothingToRetry
    return turns.regenerate(session, message_id=message_id, client_id=ask.get("client_id"))


def edited_message(session: Session, ask: dict[str, Any], said: Said) -> Message | None:
    """The message that is sent again with another text: `messageId` names the one to take the place of."""
    name = ask.get("messageId")
    if not name or name != said.id:
        return None
    message_id = message_named(session, name)
    if message_id is None:
        return None
    known = Q(pk=message_id) | Q(turn__replaces__messages__pk=message_id)
    standing = session.messages.filter(known, role=Message.Role.USER, turn__superseded_at=None)
    return standing.filter(steered_step=None).first()


def message_named(session: Session, name: str) -> uuid.UUID | None:
    """A message by our id, or a person's by the id their client gave it."""
    if UUID_FORM.fullmatch(name) and session.messages.filter(pk=name).exists():
        return uuid.UUID(name)
    sent = Message.objects.filter(turn__session=session, turn__client_id=name, role=Message.Role.USER)
    return sent.values_list("pk", flat=True).first()


def answered_parts(ask: dict[str, Any]) -> list[dict[str, Any]]:
    """The parts of the last message, when that is the assistant's: so clients send back what it asked for."""
    message = (ask.get("messages") or [{}])[-1]
    return parts_of(message) if message.get("role") == Message.Role.ASSISTANT else []


def last_said(ask: dict[str, Any]) -> Said:
    message = ask.get("message")
    if isinstance(message, str):
        return Said(id=None, text=message, files=[])
    if message is None and ask.get("messages"):
        message = ask["messages"][-1]
    if not isinstance(message, dict):
        raise ValidationError({"messages": ["Send `messages` (the last one is answered) or `message`."]})
    if message.get("role", Message.Role.USER) != Message.Role.USER:
        raise ValidationError({"messages": ["The last message must be one of the user's."]})
    parts = parts_of(message)
    texts = [
        part["text"] for part in parts if part.get("type") == "text" and isinstance(part.get("text"), str)
    ]
    files = [part for part in parts if part.get("type") == "file" and isinstance(part.get("url"), str)]
    name = message.get("id")
    known = isinstance(name, str) and 0 < len(name) <= limits.MAX_CLIENT_ID_CHARACTERS
    return Said(id=name if known else None, text="\n".join(texts), files=files)


def parts_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    parts = message.get("parts")
    if parts is None and isinstance(message.get("content"), str):
        return [{"type": "text", "text": message["content"]}]
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise ValidationError({"messages": ["A message has `parts`, a list of objects."]})
    return parts


def as_input(owner: Owner, ask: dict[str, Any], said: Said) -> Input:
    """The same checks as for any message; files inside the message are saved only when the rest is right."""
    client_id = ask.get("client_id") or said.id
    form = {
        "message": said.text,
        "client_id": client_id,
        "while_running": ask.get("while_running", Turn.Mode.QUEUE),
        "attachments": [*ask.get("attachments", []), *(new_id() for _ in said.files)],
        "context": ask.get("context"),
    }
    if said.files:
        read(NewTurn, form)
        files = attachments.take_in(owner, said.files, key=client_id or str(new_id()))
        form["attachments"] = [*ask.get("attachments", []), *files]
    return read_input(owner, form)
