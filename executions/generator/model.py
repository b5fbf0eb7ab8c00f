"""Model calls of the generator: checked against the budget and charged once per call."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Sequence
from typing import Any, Protocol

import llm
from accounts.budgets import check_budget
from accounts.ledger import charge_answer
from accounts.models import User
from durable.stop_signal import StopSignal
from llm.types import Request

AS_JSON = {"type": "json_object"}


class TextModel(Protocol):
    """A model that answers a conversation with text."""

    def ask(self, messages: Sequence[dict[str, Any]]) -> str: ...


class ConfiguredModel:
    """The site's model. `key` identifies the build: its n-th call is charged once, also after a retry."""

    def __init__(self, user: User, *, key: str, job_id: uuid.UUID | None, cancelled: StopSignal) -> None:
        self._user = user
        self._key = hashlib.sha256(key.encode()).hexdigest()[:32]
        self._job_id = job_id
        self._cancelled = cancelled
        self._asked = 0

    def ask(self, messages: Sequence[dict[str, Any]]) -> str:
        """Return one answer; raises OverBudget or an LLMError."""
        check_budget(self._user)
        request = Request(model="", messages=messages, user=str(self._user.pk), response_format=AS_JSON)
        answer = llm.complete(request, cancelled=self._cancelled)
        self._asked += 1
        key = f"generator:{self._key}:{self._asked}"
        charge_answer(
            answer, user_id=self._user.pk, key=key, job_id=self._job_id, description="Building an agent"
        )
        return answer.text
