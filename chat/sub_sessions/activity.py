"""What a turn does now, heard from its stream while somebody waits for it."""

from __future__ import annotations

import json
from typing import Any

from chat import protocol
from durable import limits, log


class Activity:
    """Words that follow "The sub-session"; they come from passing news, so nothing depends on them."""

    def __init__(self) -> None:
        self.doing = ""
        self._running: dict[str, str] = {}  # call id -> name of the tool

    def hear(self, payload: str | None) -> bool:
        """Take in an announcement; True when it changed what is going on, or may have ended the turn."""
        before, ended = self.doing, not payload
        for entry in log.parse_news(payload or ""):
            if not protocol.part_of(
                entry.body
            ):  # of a long answer nearly all are deltas, which change nothing
                ended = ended or protocol.is_end(entry.body)
                self._take_in(json.loads(entry.body))
        return ended or self.doing != before

    def _take_in(self, chunk: dict[str, Any]) -> None:
        match chunk["type"]:
            case "start-step" | "reasoning-start" | "finish-step":
                self.doing = "thinks"
            case "text-start":
                self.doing = "writes its answer"
            case "tool-input-start":
                self.doing = f"prepares {chunk['toolName']}"
            case "tool-input-available":
                self._running[chunk["toolCallId"]] = chunk["toolName"]
                self._show_tools()
            case "tool-output-available" if chunk.get("preliminary"):
                self._show_tools(chunk["toolCallId"], chunk["output"])
            case "tool-output-available" | "tool-output-error":
                self._running.pop(chunk["toolCallId"], None)
                self._show_tools()

    def _show_tools(self, call_id: str = "", output: Any = None) -> None:
        if call_id in self._running and isinstance(output, dict) and isinstance(output.get("message"), str):
            said = output["message"][: limits.MAX_BRIEF_CHARACTERS].rstrip(".")
            self.doing = f"uses {self._running[call_id]}: {said}"
        elif self._running:
            self.doing = f"uses {', '.join(dict.fromkeys(self._running.values()))}"
        else:
            self.doing = "thinks"
