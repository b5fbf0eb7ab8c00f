"""The AI SDK's reducer (`processUIMessageStream`, ai 6 and 7) in Python: from chunks to a UIMessage.

Strict where the original is: an unknown type, a delta without its start and an output without its call raise.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

FINISH_REASONS = {"stop", "length", "content-filter", "tool-calls", "error", "other"}
SILENT = {"finish-step", "abort"}


class ProtocolError(Exception):
    """A chunk that a real client would choke on."""


class Reducer:
    """One assistant message being received."""

    def __init__(self) -> None:
        self.id: str | None = None
        self.parts: list[dict[str, Any]] = []
        self.metadata: dict[str, Any] = {}
        self.error: str | None = None
        self.starts = self.finishes = 0
        self._prose: dict[tuple[str, str], dict[str, Any]] = {}
        self._inputs: dict[str, str] = {}

    def hear_all(self, bodies: Iterable[str]) -> Reducer:
        for body in bodies:
            self.hear(json.loads(body))
        return self

    def hear(self, chunk: dict[str, Any]) -> None:
        if self.finishes:
            raise ProtocolError(f"{chunk['type']} after finish")
        kind = chunk["type"]
        if kind in SILENT:
            return
        name = "data" if kind.startswith("data-") else kind.replace("-", "_")
        handler = getattr(self, f"_{name}", None)
        if handler is None:
            raise ProtocolError(f"unknown type {kind}")
        handler(chunk)

    def _start(self, chunk: dict[str, Any]) -> None:
        self.starts += 1
        self.id = chunk["messageId"]
        self.metadata |= chunk.get("messageMetadata", {})

    def _finish(self, chunk: dict[str, Any]) -> None:
        if chunk["finishReason"] not in FINISH_REASONS:
            raise ProtocolError(f"unknown finishReason {chunk['finishReason']}")
        open_parts = [part for part in self.parts if part.get("state") in ("streaming", "input-streaming")]
        if open_parts:
            raise ProtocolError(f"finish with open parts {open_parts}")
        self.finishes += 1
        self.metadata |= chunk.get("messageMetadata", {})

    def _message_metadata(self, chunk: dict[str, Any]) -> None:
        self.metadata |= chunk["messageMetadata"]

    def _error(self, chunk: dict[str, Any]) -> None:
        self.error = chunk["errorText"]

    def _start_step(self, chunk: dict[str, Any]) -> None:
        self.parts.append({"type": "step-start"})

    def _text_start(self, chunk: dict[str, Any]) -> None:
        self._open("text", chunk["id"])

    def _reasoning_start(self, chunk: dict[str, Any]) -> None:
        self._open("reasoning", chunk["id"])

    def _open(self, kind: str, part_id: str) -> None:
        part = {"type": kind, "text": "", "state": "streaming"}
        self.parts.append(part)
        self._prose[kind, part_id] = part

    def _text_delta(self, chunk: dict[str, Any]) -> None:
        self._find("text", chunk)["text"] += chunk["delta"]

    def _reasoning_delta(self, chunk: dict[str, Any]) -> None:
        self._find("reasoning", chunk)["text"] += chunk["delta"]

    def _text_end(self, chunk: dict[str, Any]) -> None:
        self._find("text", chunk)["state"] = "done"
        del self._prose["text", chunk["id"]]

    def _reasoning_end(self, chunk: dict[str, Any]) -> None:
        self._find("reasoning", chunk)["state"] = "done"
        del self._prose["reasoning", chunk["id"]]

    def _find(self, kind: str, chunk: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._prose[kind, chunk["id"]]
        except KeyError:
            raise ProtocolError(f"{chunk['type']} without its start") from None

    def _tool_input_start(self, chunk: dict[str, Any]) -> None:
        self._inputs[chunk["toolCallId"]] = ""
        self._tool(chunk["toolCallId"], chunk["toolName"], state="input-streaming")

    def _tool_input_delta(self, chunk: dict[str, Any]) -> None:
        if chunk["toolCallId"] not in self._inputs:
            raise ProtocolError("tool-input-delta without its start")
        self._inputs[chunk["toolCallId"]] += chunk["inputTextDelta"]

    def _tool_input_available(self, chunk: dict[str, Any]) -> None:
        self._tool(chunk["toolCallId"], chunk["toolName"], state="input-available", input=chunk["input"])

    def _tool_input_error(self, chunk: dict[str, Any]) -> None:
        """As `ai` 7 does it; `ai` 6 calls the input `rawInput`."""
        values = {"state": "output-error", "input": chunk["input"], "errorText": chunk["errorText"]}
        self._tool(chunk["toolCallId"], chunk["toolName"], **values)

    def _source_url(self, chunk: dict[str, Any]) -> None:
        source = {"sourceId": chunk["sourceId"], "url": chunk["url"], "title": chunk["title"]}
        self.parts.append({"type": "source-url", **source})

    def _file(self, chunk: dict[str, Any]) -> None:
        self.parts.append({"type": "file", "mediaType": chunk["mediaType"], "url": chunk["url"]})

    def _tool(self, call_id: str, name: str, **values: Any) -> None:
        for part in self.parts:
            if part.get("toolCallId") == call_id:
                part.update(values)
                return
        self.parts.append({"type": f"tool-{name}", "toolCallId": call_id, **values})

    def _known(self, chunk: dict[str, Any]) -> dict[str, Any]:
        for part in self.parts:
            if part.get("toolCallId") == chunk["toolCallId"]:
                return part
        raise ProtocolError(f"{chunk['type']} without its call")

    def _tool_output_available(self, chunk: dict[str, Any]) -> None:
        part = self._known(chunk)
        part.update(state="output-available", output=chunk["output"])
        part.pop("preliminary", None)
        if chunk.get("preliminary"):
            part["preliminary"] = True

    def _tool_output_error(self, chunk: dict[str, Any]) -> None:
        part = self._known(chunk)
        part.pop("output", None)
        part.update(state="output-error", errorText=chunk["errorText"])

    def _tool_approval_request(self, chunk: dict[str, Any]) -> None:
        self._known(chunk).update(state="approval-requested", approval={"id": chunk["approvalId"]})

    def _data(self, chunk: dict[str, Any]) -> None:
        if chunk.get("transient"):
            return
        if chunk["type"] == "data-turn":
            self._turn(chunk["data"])
            return
        for part in self.parts:
            if part["type"] == chunk["type"] and part.get("id") == chunk.get("id"):
                part["data"] = chunk["data"]
                return
        self.parts.append({"type": chunk["type"], "id": chunk["id"], "data": chunk["data"]})

    def _turn(self, data: dict[str, Any]) -> None:
        """What our own clients do: drop what was shown of the steps that are void."""
        if "reset_to_step" not in data:
            return
        starts = [place for place, part in enumerate(self.parts) if part["type"] == "step-start"]
        if data["reset_to_step"] < len(starts):
            del self.parts[starts[data["reset_to_step"]] :]
        self._prose.clear()
