"""Translation of a turn's events to the events of a response: the sibling of chat.protocol.

Sequence numbers come from the places of the turn's events, so a replay has the same ones. The protocol cannot take
anything back: when an attempt is abandoned, its open items are closed as incomplete and new ones follow.

Deltas are the bulk of a stream. They are rewritten as text, without parsing: in a chunk of ours the text is the last
value, encoded as JSON already.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from chat.models import Turn
from chat.turn_options import TurnOptions
from doors.openai import ids, response_object
from doors.openai.response_object import TurnView, call_item, message_item, reasoning_item
from durable.event_log import START, LoggedEvent, Position, encode

TEXT_DELTA = '{"type":"text-delta"'
REASONING_DELTA = '{"type":"reasoning-delta"'
INPUT_DELTA = '{"type":"tool-input-delta"'
DELTA = ',"delta":'
INPUT = ',"inputTextDelta":'
DELTAS = (TEXT_DELTA, REASONING_DELTA, INPUT_DELTA)
MARK = 'elta":'  # ends the name of the text, in all of them; ids are encoded, so it cannot occur earlier
KINDS = {  # what the deltas of an item are called, and the fields that are always the same
    "message": ("response.output_text.delta", '"content_index":0,"logprobs":[],'),
    "reasoning": ("response.reasoning_summary_text.delta", '"summary_index":0,'),
    "function_call": ("response.function_call_arguments.delta", ""),
}


class ResponseEvent(NamedTuple):
    """One event of a response, encoded."""

    number: int
    type: str
    body: str


@dataclass(eq=False)
class OpenItem:
    """An item that is being written; `pieces` are its text so far, as the inside of a JSON string."""

    kind: str  # message, reasoning or function_call
    id: str
    index: int
    name: str = ""
    call_id: str = ""
    pieces: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.delta_type, fields = KINDS[self.kind]
        self.delta_head = (
            f'{{"type":"{self.delta_type}","item_id":"{self.id}","output_index":{self.index},{fields}'
            '"sequence_number":'
        )

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    def shown(self, status: str) -> dict[str, Any]:
        text = json.loads(f'"{self.text}"')
        match self.kind:
            case "message":
                return message_item(self.id, text, status)
            case "reasoning":
                return reasoning_item(self.id, text, status)
            case _:
                return call_item(self.call_id, self.name, text, status) | {"id": self.id}


class ResponseTranslator:
    """The state of one reader of a response, from its beginning on."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._options = TurnOptions.of(turn)
        self._client_tools = {tool.name for tool in self._options.tools}
        self._frame = response_object.frame(turn, self._options)
        self._shows_tools = TurnView(turn=turn, options=self._options, steps=[], calls={}).shows_tools
        self._attempt, self._step, self._part, self._restarts = 1, -1, 0, 0
        self._next_index = 0
        self._open: dict[str, OpenItem] = {}
        self._heads: dict[str, OpenItem] = {}  # the same by the beginning of their deltas
        self._ours: dict[str, str] = {}  # the notes about our own calls, by call id
        self._place, self._sub, self._last = START, 0, -1

    def opening(self) -> list[ResponseEvent]:
        """Return the events before the turn's own: it was created and queued."""
        self._at(START)
        return [self._lifecycle("created", "queued"), self._lifecycle("queued", "queued")]

    def translate(self, entry: LoggedEvent) -> list[ResponseEvent]:
        """Return the events of one entry of the log; `finish` is left to `closing`."""
        body = entry.body
        if body.startswith(DELTAS):
            return self._delta(entry.at, body)
        self._at(entry.at)
        return list(self._other(json.loads(body)))

    def closing(self, turn: Turn, at: Position) -> list[ResponseEvent]:
        """Return the end: what is open is closed, then the response as the database has it."""
        self._at(at)
        events = self._abandon()
        response = response_object.response(turn)
        kind = {"completed": "completed", "failed": "failed"}.get(response["status"], "incomplete")
        return [*events, self._event(f"response.{kind}", {"response": response})]

    # --- numbers ----------------------------------------------------------------------------------

    def _at(self, place: Position) -> None:
        if place != self._place:
            self._place, self._sub = place, 0

    def _number(self) -> int:
        number = max(ids.sequence_number(self._place, self._sub), self._last + 1)
        self._sub += 1
        self._last = number
        return number

    def _event(self, kind: str, fields: dict[str, Any]) -> ResponseEvent:
        number = self._number()
        return ResponseEvent(number, kind, encode({"type": kind, "sequence_number": number, **fields}))

    def _lifecycle(self, kind: str, status: str) -> ResponseEvent:
        return self._event(f"response.{kind}", {"response": self._frame | {"status": status}})

    # --- deltas -----------------------------------------------------------------------------------

    def _delta(self, at: Position, body: str) -> list[ResponseEvent]:
        head, _, tail = body.partition(MARK)
        item = self._heads.get(head) or self._find(head)
        if item is None:
            return []  # a call of a tool of ours, which is not shown as a call
        item.pieces.append(tail[1:-2])
        number = ids.sequence_number(at, 0)
        if number <= self._last:
            number = self._last + 1
        self._place, self._sub, self._last = at, 1, number
        return [ResponseEvent(number, item.delta_type, f'{item.delta_head}{number},"delta":{tail}')]

    def _find(self, head: str) -> OpenItem | None:
        """Return the open item of a delta, given the delta up to its text, which all deltas of the item share."""
        key = '"toolCallId":' if head.startswith(INPUT_DELTA) else '"id":'
        name = head[head.index(key) + len(key) : head.rindex(",")]
        item = self._open.get(name)
        if item is not None:
            self._heads[head] = item
        return item

    # --- other events -----------------------------------------------------------------------------

    def _other(self, chunk: dict[str, Any]) -> Iterator[ResponseEvent]:
        match chunk["type"]:
            case "start":
                yield self._lifecycle("in_progress", "in_progress")
            case "data-turn" if "reset_to_step" in chunk["data"]:
                yield from self._begin_again(chunk["data"])
            case "start-step":
                self._step, self._part = self._step + 1, 0
            case "text-start":
                yield from self._open_message(chunk["id"])
            case "reasoning-start":
                yield from self._open_reasoning(encode(chunk["id"]), self._prose_id("rs"))
            case "text-end" | "reasoning-end":
                yield from self._close(encode(chunk["id"]))
            case "tool-input-start" if chunk["toolName"] in self._client_tools:
                yield from self._open_call(chunk["toolCallId"], chunk["toolName"])
            case "tool-input-start":
                self._part += 1
            case "tool-input-available" if chunk["toolName"] in self._client_tools:
                yield from self._finish_call(chunk)
            case "tool-input-available":
                yield from self._note_call(chunk)
            case "tool-output-available" if self._shows_tools and not chunk.get("preliminary"):
                yield from self._note_result(chunk["toolCallId"], chunk["output"])
            case "tool-output-error" if self._shows_tools:
                yield from self._note_result(chunk["toolCallId"], chunk["errorText"])

    def _begin_again(self, data: dict[str, Any]) -> Iterator[ResponseEvent]:
        yield from self._abandon()
        self._restarts = self._restarts + 1 if data["attempt"] == self._attempt else 0
        self._attempt, self._step = data["attempt"], data["reset_to_step"] - 1

    def _abandon(self) -> list[ResponseEvent]:
        """Close what is open as incomplete."""
        left, self._open, self._heads = list(self._open.values()), {}, {}
        return [self._item_done(item, "incomplete") for item in left]

    def _prose_id(self, prefix: str) -> str:
        own = response_object.prose_id(prefix, self._turn, self._attempt, self._step, self._part)
        self._part += 1
        return own + (f"_{self._restarts}" if self._restarts else "")

    def _add(self, name: str, item: OpenItem) -> ResponseEvent:
        self._open[name] = item
        self._next_index += 1
        shown = item.shown("in_progress")
        if item.kind == "message":
            shown["content"] = []
        return self._event("response.output_item.added", {"output_index": item.index, "item": shown})

    def _item_done(self, item: OpenItem, status: str) -> ResponseEvent:
        fields = {"output_index": item.index, "item": item.shown(status)}
        return self._event("response.output_item.done", fields)

    def _open_message(self, part_id: str) -> Iterator[ResponseEvent]:
        item = OpenItem("message", self._prose_id("msg"), self._next_index)
        yield self._add(encode(part_id), item)
        part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
        yield self._event("response.content_part.added", self._of(item) | {"content_index": 0, "part": part})

    def _open_reasoning(self, name: str, item_id: str) -> Iterator[ResponseEvent]:
        item = OpenItem("reasoning", item_id, self._next_index)
        yield self._add(name, item)
        part = {"type": "summary_text", "text": ""}
        yield self._event(
            "response.reasoning_summary_part.added", self._of(item) | {"summary_index": 0, "part": part}
        )

    def _open_call(self, call_id: str, name: str) -> Iterator[ResponseEvent]:
        own = ids.client_call_id(self._turn.pk, self._step, call_id)
        suffix = f"_{self._attempt}" if self._attempt > 1 else ""
        item_id = f"fc_{own.removeprefix(ids.CALL)}{suffix}"
        item = OpenItem("function_call", item_id, self._next_index, name=name, call_id=own)
        self._part += 1
        yield self._add(encode(call_id), item)

    def _of(self, item: OpenItem) -> dict[str, Any]:
        return {"item_id": item.id, "output_index": item.index}

    def _close(self, name: str) -> Iterator[ResponseEvent]:
        """Finish a part of text or reasoning."""
        item = self._open.pop(name, None)
        self._heads.clear()
        if item is None:
            return
        text = json.loads(f'"{item.text}"')
        if item.kind == "message":
            of = self._of(item) | {"content_index": 0}
            part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
            yield self._event("response.output_text.done", of | {"text": text, "logprobs": []})
            yield self._event("response.content_part.done", of | {"part": part})
        else:
            of = self._of(item) | {"summary_index": 0}
            part = {"type": "summary_text", "text": text}
            yield self._event("response.reasoning_summary_text.done", of | {"text": text})
            yield self._event("response.reasoning_summary_part.done", of | {"part": part})
        yield self._item_done(item, "completed")

    def _finish_call(self, chunk: dict[str, Any]) -> Iterator[ResponseEvent]:
        """Finish a call of the client's tool; in a replay from rows it begins here as well."""
        name = encode(chunk["toolCallId"])
        if name not in self._open:
            yield from self._open_call(chunk["toolCallId"], chunk["toolName"])
        item = self._open.pop(name)
        self._heads.clear()
        if not item.pieces and chunk["input"] not in ({}, ""):
            written = chunk["input"] if isinstance(chunk["input"], str) else encode(chunk["input"])
            item.pieces.append(encode(written)[1:-1])
            yield self._event("response.function_call_arguments.delta", self._of(item) | {"delta": written})
        shown = item.shown("completed")
        fields = {"name": item.name, "arguments": shown["arguments"]}
        yield self._event("response.function_call_arguments.done", self._of(item) | fields)
        yield self._item_done(item, "completed")

    def _note_call(self, chunk: dict[str, Any]) -> Iterator[ResponseEvent]:
        """Show that a tool of ours is used, as a summary of reasoning."""
        item_id = response_object.tool_note_id(self._turn, self._step, chunk["toolCallId"])
        item_id += f"_{self._attempt}" if self._attempt > 1 else ""
        self._ours[chunk["toolCallId"]] = item_id
        written = chunk["input"] if isinstance(chunk["input"], str) else encode(chunk["input"])
        text = response_object.used_tool(chunk["toolName"], written, whole=self._shows_tools)
        yield from self._note(item_id, text)

    def _note_result(self, call_id: str, result: Any) -> Iterator[ResponseEvent]:
        if item_id := self._ours.get(call_id):
            yield from self._note(f"{item_id}_result", response_object.tool_result(result))

    def _note(self, item_id: str, text: str) -> Iterator[ResponseEvent]:
        yield from self._open_reasoning(item_id, item_id)
        item = self._open[item_id]
        item.pieces.append(encode(text)[1:-1])
        fields = self._of(item) | {"summary_index": 0, "delta": text}
        yield self._event("response.reasoning_summary_text.delta", fields)
        yield from self._close(item_id)
