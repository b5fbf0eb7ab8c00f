"""What the generator asks for, read from its prompt."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from llm.offline.conversation import Conversation, text_of

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
class Task:
    """One question of the generator."""

    conversation: Conversation

    @classmethod
    def of(cls, conversation: Conversation) -> Task | None:
        """The task in a request; None for any other request."""
        return cls(conversation) if KIND.match(conversation.system) else None

    @cached_property
    def kind(self) -> str:
        found = KIND.match(self.conversation.system)
        assert found is not None
        return found["kind"].split()[0]

    @cached_property
    def wish(self) -> str:
        """The message that holds the goal: the first of the user, as later ones ask for repairs."""
        return next(
            (text_of(message) for message in self.conversation.messages if message.get("role") == "user"), ""
        )

    @cached_property
    def goal(self) -> str:
        found = GOAL.search(self.wish)
        return " ".join((found["goal"] if found else self.wish).split())

    @cached_property
    def context(self) -> str:
        found = CONTEXT.search(self.wish)
        return " ".join(found["context"].split()) if found else ""

    @cached_property
    def said(self) -> str:
        """Goal and context in one line: what may answer a question."""
        return f"{self.goal} {self.context}".strip()

    @property
    def address(self) -> str:
        """The first web address that was mentioned."""
        found = ADDRESS.search(self.said)
        return found.group().rstrip(".,;") if found else ""

    @cached_property
    def blocks(self) -> dict[str, str]:
        """Ids of the blocks in the prompt's index, by name."""
        return {found["name"].strip(): found["id"] for found in BLOCK.finditer(self.conversation.system)}

    @cached_property
    def base(self) -> Mapping[str, Any]:
        """The agent to be changed; empty when a new one is wished for."""
        _, mark, after = self.wish.partition(BASE)
        try:
            found = json.JSONDecoder().raw_decode(after.strip())[0] if mark else {}
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    @cached_property
    def parts(self) -> list[Mapping[str, Any]]:
        """Agents it may build upon."""
        found = PARTS.search(self.wish)
        return [json.loads(line) for line in found["lines"].splitlines()] if found else []
