"""A session's messages as AI SDK UIMessages, in pages and with a constant number of queries."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rest_framework.exceptions import ValidationError

from chat import attachments, replay, turn_log
from chat.api.versions import MessageVersions
from chat.models import Message, Session, Step, Turn
from chat.sessions import Owner
from tools.models import ToolCall
from workspace.models import WorkspaceFile

UIMessage = dict[str, Any]
Calls = dict[tuple[int, str], ToolCall]
Steers = dict[int, list[Message]]


@dataclass(frozen=True, kw_only=True)
class MessagePage:
    """Messages, oldest first; `before` is the cursor of the older page, or None."""

    messages: list[UIMessage]
    before: str | None


def page_of(session: Session, *, before: str = "", size: int) -> MessagePage:
    """Return the newest messages, or those before a given one. Superseded turns are left out."""
    rows = session.messages.filter(Message.is_in_history()).select_related("turn")
    if before:
        rows = rows.filter(seq__lt=seq_of(session, before))
    found = list(rows.order_by("-seq")[: size + 1])
    shown = found[:size][::-1]
    first = str(shown[0].pk) if len(found) > size else None
    return MessagePage(messages=ui_messages(shown, Owner(user=session.user)), before=first)


def seq_of(session: Session, message_id: str) -> int:
    try:
        seq = session.messages.values_list("seq", flat=True).get(pk=uuid.UUID(message_id))
    except (ValueError, Message.DoesNotExist):
        seq = None
    if seq is None:
        raise ValidationError({"before": ["This is not the id of a message in this session."]})
    return seq


def ui_messages(messages: Sequence[Message], owner: Owner) -> list[UIMessage]:
    """Return UIMessages, with eight queries at most: all their steps, calls, operations, steers, versions
    and files at once."""
    turns = [message.turn for message in messages if message.role == Message.Role.ASSISTANT and message.turn]
    shown = Rows(turns)
    files = attachments.find(owner, sorted({name for message in messages for name in message.attachments}))
    versions = MessageVersions(messages)
    return [
        (answer(message, shown) if message.role == Message.Role.ASSISTANT else question(message, files))
        | ({"versions": found} if (found := versions.of(message)) else {})
        for message in messages
    ]


class Rows:
    """The rows that the answers of some turns are made from."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        ids = [turn.pk for turn in turns]
        self.steps: dict[uuid.UUID, list[Step]] = defaultdict(list)
        self.calls: dict[uuid.UUID, Calls] = defaultdict(dict)
        self.steers: dict[uuid.UUID, Steers] = defaultdict(dict)
        self.causes = turn_log.causes(turns)
        self.decisions: dict[str, replay.ReviewOutcome] = {}
        if not ids:
            return
        for step in Step.objects.filter(turn__in=ids).defer("carry").order_by("number"):
            self.steps[step.turn_id].append(step)
        for call in ToolCall.objects.filter(turn_id__in=ids):
            self.calls[call.turn_id][call.step, call.call_id] = call
        asked = (call for calls in self.calls.values() for call in calls.values())
        self.decisions = replay.decisions_on(asked)
        for message in Message.objects.filter(turn__in=ids).exclude(steered_step=None).order_by("seq"):
            assert message.turn_id is not None
            self.steers[message.turn_id].setdefault(message.steered_step or 0, []).append(message)


def answer(message: Message, rows: Rows) -> UIMessage:
    turn = message.turn
    assert turn is not None
    steps = rows.steps[turn.pk]
    return {
        "id": str(message.pk),
        "role": message.role,
        "parts": replay.answer_parts(
            turn,
            steps,
            rows.calls[turn.pk],
            rows.steers[turn.pk],
            rows.causes.get(turn.pk),
            rows.decisions,
        ),
        "metadata": answer_metadata(turn),
        "content": "".join(step.text for step in steps),
    }


def answer_metadata(turn: Turn) -> dict[str, Any]:
    known = turn_log.final_metadata(turn)
    if turn.status == Turn.FAILED:
        known["error"] = turn.error or turn_log.SENTENCES.get(
            turn.end_reason, turn_log.SENTENCES["internal_error"]
        )
    return known


def question(message: Message, files: dict[str, WorkspaceFile]) -> UIMessage:
    parts: list[dict[str, Any]] = [{"type": "text", "text": message.text}] if message.text else []
    parts += [attachments.ui_part(files[name]) for name in message.attachments if name in files]
    metadata: dict[str, Any] = {
        "turn_id": str(message.turn_id),
        "session_id": str(message.session_id),
        "created_at": message.created_at.isoformat(),
    }
    if message.steered_step is not None:
        metadata["steered_step"] = message.steered_step
    if message.context:
        metadata["context"] = {"url": message.context.get("url", "")}
    return {
        "id": str(message.pk),
        "role": message.role,
        "parts": parts,
        "metadata": metadata,
        "content": message.text,
    }
