"""From chunks to the parts of a step: what a reader has on screen after hearing them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from chat.events import Prose

Part = dict[str, Any]


@dataclass
class Shown:
    """The parts of one step as shown so far, and which of them are still open."""

    parts: list[Part] = field(default_factory=list)
    open_prose: dict[str, Prose] = field(default_factory=dict)  # part id -> kind
    _prose: dict[str, Part] = field(default_factory=dict)
    _calls: dict[str, Part] = field(default_factory=dict)

    def hear(self, chunk: dict[str, Any]) -> None:
        """Apply one chunk; chunks that show nothing change nothing."""
        match chunk["type"]:
            case "text-start" | "reasoning-start":
                kind: Prose = "text" if chunk["type"] == "text-start" else "reasoning"
                part = {"kind": kind, "text": ""}
                self.parts.append(part)
                self._prose[chunk["id"]] = part
                self.open_prose[chunk["id"]] = kind
            case "text-delta" | "reasoning-delta":
                self._prose[chunk["id"]]["text"] += chunk["delta"]
            case "text-end" | "reasoning-end":
                self.open_prose.pop(chunk["id"], None)
            case "tool-input-start":
                part = {"kind": "tool", "id": chunk["toolCallId"], "name": chunk["toolName"], "arguments": ""}
                self.parts.append(part)
                self._calls[chunk["toolCallId"]] = part
            case "tool-input-delta":
                self._calls[chunk["toolCallId"]]["arguments"] += chunk["inputTextDelta"]

    @property
    def prose(self) -> list[Part]:
        """What can be kept of a step that was cut off: whole words, no half tool calls."""
        return [part for part in self.parts if part["kind"] != "tool" and part["text"]]


def shown_by(bodies: Iterable[str]) -> Shown:
    """What encoded chunks of one step leave on screen."""
    shown = Shown()
    for body in bodies:
        shown.hear(json.loads(body))
    return shown
