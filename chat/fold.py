"""Folding of chunks into what a reader has on screen after them: the parts of a step, a whole turn."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from chat.events import Prose
from durable import storable

Part = dict[str, Any]


@dataclass
class ShownParts:
    """The parts of one step, and which of them are still open."""

    parts: list[Part] = field(default_factory=list)
    open_prose: dict[str, Prose] = field(default_factory=dict)  # part id -> kind
    _prose: dict[str, Part] = field(default_factory=dict)
    _calls: dict[str, Part] = field(default_factory=dict)

    def apply(self, chunk: dict[str, Any]) -> None:
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


def cut_off(parts: Iterable[Part], why: str) -> list[Part]:
    """Return what is kept of an unfinished step: its text, and each call with the reason why it was not made."""
    kept = [part | {"cut": why} if part["kind"] == "tool" else part for part in parts]
    return [part for part in kept if part["kind"] == "tool" or part["text"]]


def text_of(parts: Iterable[Part]) -> str:
    """Return the plain text of a step."""
    return "".join(part["text"] for part in parts if part["kind"] == "text")


def tool_input(arguments: str) -> Any:
    """Return the arguments of a call as an object if they are JSON, else as the model wrote them."""
    try:
        return storable.nearest_json(storable.loads(arguments or "{}"))
    except ValueError:
        return arguments


def shown_by(bodies: Iterable[str]) -> ShownParts:
    """Return the parts that the encoded chunks of one step leave on screen."""
    shown = ShownParts()
    for body in bodies:
        shown.apply(json.loads(body))
    return shown


@dataclass
class FoldedCall:
    """A tool call; `output` is None until it has ended, `error` is empty unless it failed."""

    call_id: str
    name: str
    input: Any = None
    output: Any = None
    error: str = ""
    ended: bool = False


@dataclass
class FoldedTurn:
    """A whole turn after its chunks, whether they came live, replayed or both."""

    steps: list[ShownParts] = field(default_factory=list)
    calls: dict[str, FoldedCall] = field(default_factory=dict)
    error: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)

    def apply(self, chunk: dict[str, Any]) -> None:
        """Apply one chunk; a new attempt removes the steps it makes void."""
        match chunk["type"]:
            case "start" | "finish":
                self.metadata |= chunk.get("messageMetadata") or {}
            case "data-turn" if "reset_to_step" in chunk["data"]:
                del self.steps[chunk["data"]["reset_to_step"] :]
            case "start-step":
                self.steps.append(ShownParts())
            case "tool-input-available":
                call = FoldedCall(chunk["toolCallId"], chunk["toolName"], chunk["input"])
                self.calls[call.call_id] = call
            case "tool-output-available" if not chunk.get("preliminary"):
                self._end(chunk["toolCallId"], output=chunk["output"])
            case "tool-output-error":
                self._end(chunk["toolCallId"], error=chunk["errorText"])
            case "error":
                self.error = chunk["errorText"]
            case _ if self.steps:
                self.steps[-1].apply(chunk)

    def _end(self, call_id: str, *, output: Any = None, error: str = "") -> None:
        call = self.calls.get(call_id)
        if call is not None:
            call.output, call.error, call.ended = output, error, True

    @property
    def text(self) -> str:
        """The text of the answer, a paragraph for each step with text."""
        texts = [text_of(step.parts).strip() for step in self.steps]
        return "\n\n".join(text for text in texts if text)

    @property
    def running(self) -> list[str]:
        """Names of the tools that are running."""
        return [call.name for call in self.calls.values() if not call.ended]


def fold_turn(bodies: Iterable[str]) -> FoldedTurn:
    """Return what the encoded chunks of one turn leave with a reader."""
    turn = FoldedTurn()
    for body in bodies:
        turn.apply(json.loads(body))
    return turn
