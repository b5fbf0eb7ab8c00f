"""The versions of a message: other answers to it, other wordings of it, and which of them is shown."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from chat.branches import BranchTree, TurnPlace
from chat.models import Message, Turn

Version = dict[str, Any]
Wording = tuple[str, tuple[str, ...]]  # text and attached files


class MessageVersions:
    """The versions of some messages of one session, with four queries at most; with one where nothing branches."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._tree = BranchTree(messages[0].session_id) if messages else None
        self._families = {
            message.turn_id: family
            for message in messages
            if self._tree and message.turn_id and (family := self._tree.siblings(message.turn_id))
        }
        ids = {place.pk for family in self._families.values() for place in family}
        self._turns = Turn.objects.in_bulk(ids) if ids else {}
        inputs = Message.objects.filter(turn__in=ids, role=Message.Role.USER, steered_step=None)
        self._inputs = {message.turn_id: message for message in inputs} if ids else {}

    def of(self, message: Message) -> list[Version]:
        """Return the versions of a message, oldest first; none where there is only one."""
        family = self._families.get(message.turn_id, []) if message.turn_id else []
        if message.role == Message.Role.ASSISTANT:
            same = self._same_wording(family, message.turn_id)
            found = [self._version(place, self._turns[place.pk].answer_id) for place in same]
        elif message.steered_step is None:
            found = self._wordings(family)
        else:
            found = []
        return found if len(found) > 1 else []

    def _same_wording(self, family: Sequence[TurnPlace], turn_id: uuid.UUID | None) -> list[TurnPlace]:
        return [place for place in family if self._wording(place.pk) == self._wording(turn_id)]

    def _wordings(self, family: Sequence[TurnPlace]) -> list[Version]:
        """Return one version for each wording, named by its answer that was shown last."""
        groups: dict[Wording, list[TurnPlace]] = defaultdict(list)
        for place in family:
            groups[self._wording(place.pk)].append(place)
        last = [max(group, key=lambda place: place.last_shown) for group in groups.values()]
        return [self._version(place, self._inputs[place.pk].pk) for place in last if place.pk in self._inputs]

    def _wording(self, turn_id: uuid.UUID | None) -> Wording:
        found = self._inputs.get(turn_id)
        return (found.text, tuple(map(str, found.attachments))) if found else ("", ())

    def _version(self, place: TurnPlace, message_id: uuid.UUID) -> Version:
        turn = self._turns[place.pk]
        return {
            "turn_id": str(turn.pk),
            "message_id": str(message_id),
            "model": turn.model_name or turn.asked_model,
            "created_at": turn.queued_at.isoformat(),
            "shown": place.superseded_at is None,
        }
