"""The agent generator's request, parsed from its prompt."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from llm.offline.conversation import OfflineConversation, text_of

KIND = re.compile(r"\A# Task: (?P<kind>decompose a goal for an agent|draw an agent|change an agent)")
BLOCK = re.compile(r"^(?P<name>[^|\n]+?) \| (?P<id>[0-9a-f-]{36}) \|", re.MULTILINE)
END = r"(?=\n\n(?:Context: |Agents that may |Steps:|The agent as it is:)|\Z)"
GOAL = re.compile(rf"\AGoal: (?P<goal>.*?){END}", re.DOTALL)
CONTEXT = re.compile(rf"^Context: (?P<context>.*?){END}", re.DOTALL | re.MULTILINE)
PARTS = re.compile(
    r"^Agents that may be run with Agent Executor:\n(?P<lines>(?:\{[^\n]*\}\n)*\{[^\n]*\})", re.MULTILINE
)
BASE = "The agent as it is:\n"
ADDRESS = re.compile(r"https?://[^\s\"'<>)\]]+")


@dataclass(frozen=True)
class GeneratorTask:
    """One request of the agent generator."""

    conversation: OfflineConversation

    @classmethod
    def of(cls, conversation: OfflineConversation) -> GeneratorTask | None:
        """Return the task in a request, or None for any other request."""
        return cls(conversation) if KIND.match(conversation.system) else None

    @cached_property
    def kind(self) -> str:
        found = KIND.match(self.conversation.system)
        assert found is not None
        return found["kind"].split()[0]

    @cached_property
    def request(self) -> str:
        """Return the user's first message, which holds the goal; later ones ask for repairs."""
        return next(
            (text_of(message) for message in self.conversation.messages if message.get("role") == "user"), ""
        )

    @cached_property
    def goal(self) -> str:
        found = GOAL.search(self.request)
        return " ".join((found["goal"] if found else self.request).split())

    @cached_property
    def context(self) -> str:
        found = CONTEXT.search(self.request)
        return " ".join(found["context"].split()) if found else ""

    @cached_property
    def full_text(self) -> str:
        """Return goal and context in one line, which may answer a question."""
        return f"{self.goal} {self.context}".strip()

    @property
    def address(self) -> str:
        """Return the first URL mentioned, or ""."""
        found = ADDRESS.search(self.full_text)
        return found.group().rstrip(".,;") if found else ""

    @cached_property
    def blocks(self) -> dict[str, str]:
        """Return the ids of the blocks in the prompt's index by name."""
        return {found["name"].strip(): found["id"] for found in BLOCK.finditer(self.conversation.system)}

    @cached_property
    def base(self) -> Mapping[str, Any]:
        """Return the agent to change; empty for a new one."""
        _, mark, after = self.request.partition(BASE)
        try:
            found = json.JSONDecoder().raw_decode(after.strip())[0] if mark else {}
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    @cached_property
    def parts(self) -> list[Mapping[str, Any]]:
        """Return the agents it may build upon."""
        found = PARTS.search(self.request)
        return [json.loads(line) for line in found["lines"].splitlines()] if found else []
