"""Models for the generator: the offline one, asked without a wire, and one that says what it is told to."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from accounts.models import User
from executions.agents.validation import Scope
from executions.generator.build import BuildTools
from llm.offline.conversation import OfflineConversation
from llm.offline.rules import answer

Messages = Sequence[dict[str, Any]]


class OfflineAsker:
    """The offline model's rules."""

    def ask(self, messages: Messages) -> str:
        return answer(OfflineConversation({"model": "offline", "messages": list(messages)})).text


@dataclass
class Scripted:
    """Answers in order; a function is given the messages. The last answer is repeated."""

    answers: list[Any]
    asked: list[Messages] = field(default_factory=list)

    def ask(self, messages: Messages) -> str:
        self.asked.append(messages)
        chosen = self.answers[min(len(self.asked), len(self.answers)) - 1]
        if isinstance(chosen, Callable):  # type: ignore[arg-type]
            chosen = chosen(messages)
        return chosen if isinstance(chosen, str) else json.dumps(chosen)


@dataclass
class Shop:
    """A workshop that remembers its progress."""

    user: User
    told: list[tuple[float, str]] = field(default_factory=list)

    def with_asker(self, model: Any, scope: Scope | None = None) -> BuildTools:
        return BuildTools(
            user=self.user,
            model=model,
            scope=scope or Scope(),
            report=lambda share, text: self.told.append((share, text)),
        )
