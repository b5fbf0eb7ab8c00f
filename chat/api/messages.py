"""A session's messages as AI SDK UIMessages, in pages and with a constant number of queries."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rest_framework.exceptions import ValidationError

from chat import attachments, replay, turn_log
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
    return [
        answer(message, shown) if message.role == Message.Role.ASSISTANT else question(message, files)
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
        self.versions: dict[uuid.UUID, list[dict[str, str]]] = {}
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
        self.versions = versions_of(turns)


def versions_of(turns: Sequence[Turn]) -> dict[uuid.UUID, list[dict[str, str]]]:
    """Return all answers to the same message by the id of the newest turn, oldest first; none where there is one.

    An answer to another wording of the message is not one of them.
    """
    replaced = list(Turn.objects.filter(replaced_by__in=[turn.pk for turn in turns]))
    if not replaced:
        return {}
    newest = {turn.replaced_by_id for turn in replaced}
    family = [*replaced, *(turn for turn in turns if turn.pk in newest)]
    inputs = Message.objects.filter(turn__in=family, role=Message.Role.USER, steered_step=None)
    texts = dict(inputs.values_list("turn_id", "text"))
    found: dict[uuid.UUID, list[Turn]] = defaultdict(list)
    for turn in sorted(family, key=lambda turn: turn.queued_at):
        current = turn.replaced_by_id or turn.pk
        if texts.get(turn.pk) == texts.get(current):
            found[current].append(turn)
    return {pk: [version(turn) for turn in same] for pk, same in found.items() if len(same) > 1}


def version(turn: Turn) -> dict[str, str]:
    return {
        "turn_id": str(turn.pk),
        "model": turn.model_name or turn.asked_model,
        "created_at": turn.queued_at.isoformat(),
    }


def answer(message: Message, rows: Rows) -> UIMessage:
    turn = message.turn
    assert turn is not None
    steps = rows.steps[turn.pk]
    shown = {
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
    versions = rows.versions.get(turn.pk)
    return shown | {"versions": versions} if versions else shown


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
