"""Translation of a turn's events to the events of a response: the sibling of chat.protocol.

Sequence numbers come from the places of the turn's events, so a replay has the same ones. The protocol cannot take
anything back: when an attempt is abandoned, its open items are closed as incomplete and new ones follow.

Deltas are the bulk of a stream. They are rewritten as text, without parsing: in a chunk of ours the text is the last
value, encoded as JSON already.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from chat import protocol
from chat.delivery.sse import one_line
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


@dataclass(frozen=True, kw_only=True)
class EventFraming:
    """What stands before and after the JSON of an event; `{}` is its type."""

    before: str = ""
    after: str = ""

    def framed(self, kind: str, body: str) -> str:
        return f"{self.before.format(kind)}{one_line(body)}{self.after}"


SERVER_SENT = EventFraming(before="event: {}\ndata: ", after="\n\n")
BARE = EventFraming()


@dataclass(eq=False)
class OpenItem:
    """An item that is being written; `pieces` are its text so far, each the end of a delta: `"text"}`."""

    kind: str  # message, reasoning or function_call
    id: str
    index: int
    name: str = ""
    call_id: str = ""
    pieces: list[str] = field(default_factory=list)
    delta_head: str = ""  # what stands before the number in each of its deltas
    mark: str = "none"  # how our own deltas of it begin, up to their text

    def frame_deltas(self, framing: EventFraming) -> None:
        kind, fields = KINDS[self.kind]
        self.delta_head = (
            f'{framing.before.format(kind)}{{"type":"{kind}","item_id":"{self.id}",'
            f'"output_index":{self.index},{fields}"sequence_number":'
        )

    def add(self, text: str) -> None:
        self.pieces.append(encode(text) + "}")

    @property
    def text(self) -> str:
        inside = "".join([piece[1:-2] for piece in self.pieces])
        found: str = json.loads(f'"{inside}"')
        return found

    def shown(self, status: str) -> dict[str, Any]:
        text = self.text
        match self.kind:
            case "message":
                return message_item(self.id, text, status)
            case "reasoning":
                return reasoning_item(self.id, text, status)
            case _:
                return call_item(self.call_id, self.name, text, status) | {"id": self.id}


NO_ITEM = OpenItem("message", "", -1)


class ResponseTranslator:
    """The state of one reader of a response, from its beginning on; it writes the events numbered above `after`."""

    def __init__(self, turn: Turn, *, after: int = -1, framing: EventFraming = SERVER_SENT) -> None:
        self._turn = turn
        self._after = after
        self._framing = framing
        self._options = TurnOptions.of(turn)
        self._client_tools = {tool.name for tool in self._options.tools}
        self._frame = response_object.frame(turn, self._options)
        self._shows_tools = TurnView(turn=turn, options=self._options, steps=[], calls={}).shows_tools
        self._attempt, self._step, self._part, self._restarts = 1, -1, 0, 0
        self._next_index = 0
        self._open: dict[str, OpenItem] = {}
        self._current = NO_ITEM  # the one that the last delta was of
        self._ours: dict[str, str] = {}  # the notes about our own calls, by call id
        self._place, self._sub, self._last = START, 0, -1

    def opening(self) -> list[str]:
        """Return the events before the turn's own: it was created and queued."""
        self._at(START)
        return written([self._lifecycle("created", "queued"), self._lifecycle("queued", "queued")])

    def translate(self, batch: Sequence[LoggedEvent]) -> Iterator[str]:
        """Yield the events of entries of the log; `finish` is left to `closing`."""
        after, end = self._after, self._framing.after
        for at, _, body in batch:
            item = self._current
            if not body.startswith(item.mark):
                found = self._find(body) if body.startswith(DELTAS) else None
                if found is None:
                    yield from self._other(at, body)
                    continue
                item = self._current = found
            tail = body[len(item.mark) :]
            item.pieces.append(tail)
            number = ids.first_number(at)
            if number <= self._last:
                number = self._last + 1
            self._last = number
            if number > after:
                shown = tail if tail.isascii() else one_line(tail)
                yield f'{item.delta_head}{number},"delta":{shown}{end}'

    def closing(self, turn: Turn, at: Position) -> list[str]:
        """Return the end: what is open is closed, then the response as the database has it."""
        self._at(at)
        events = self._abandon()
        response = response_object.response(turn)
        kind = {"completed": "completed", "failed": "failed"}.get(response["status"], "incomplete")
        return written([*events, self._event(f"response.{kind}", {"response": response})])

    # --- numbers ----------------------------------------------------------------------------------

    def _at(self, place: Position) -> None:
        if place != self._place:
            self._place, self._sub = place, 0

    def _number(self) -> int:
        number = max(ids.sequence_number(self._place, self._sub), self._last + 1)
        self._sub += 1
        self._last = number
        return number

    def _event(self, kind: str, fields: dict[str, Any]) -> str:
        """Return an event; empty if the reader has had it."""
        number = self._number()
        if number <= self._after:
            return ""
        return self._framing.framed(kind, encode({"type": kind, "sequence_number": number, **fields}))

    def _lifecycle(self, kind: str, status: str) -> str:
        return self._event(f"response.{kind}", {"response": self._frame | {"status": status}})

    def _find(self, delta: str) -> OpenItem | None:
        """Return the open item of a delta; None for a call of a tool of ours, which is not shown as a call."""
        head = delta[: delta.index(MARK) + len(MARK)]
        key = '"toolCallId":' if head.startswith(INPUT_DELTA) else '"id":'
        name = head[head.index(key) + len(key) : head.rindex(",")]
        item = self._open.get(name)
        if item is not None:
            item.mark = head
        return item

    # --- other events -----------------------------------------------------------------------------

    def _other(self, at: Position, body: str) -> list[str]:
        if body.startswith(DELTAS) or protocol.is_end(body):
            return []
        self._at(at)
        return written(self._chunk(json.loads(body)))

    def _chunk(self, chunk: dict[str, Any]) -> Iterator[str]:
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

    def _begin_again(self, data: dict[str, Any]) -> Iterator[str]:
        yield from self._abandon()
        self._restarts = self._restarts + 1 if data["attempt"] == self._attempt else 0
        self._attempt, self._step = data["attempt"], data["reset_to_step"] - 1

    def _abandon(self) -> list[str]:
        """Close what is open as incomplete."""
        left, self._open, self._current = list(self._open.values()), {}, NO_ITEM
        return [self._item_done(item, "incomplete") for item in left]

    def _prose_id(self, prefix: str) -> str:
        own = response_object.prose_id(prefix, self._turn, self._attempt, self._step, self._part)
        self._part += 1
        return own + (f"_{self._restarts}" if self._restarts else "")

    def _add(self, name: str, item: OpenItem) -> str:
        self._open[name] = item
        self._next_index += 1
        item.frame_deltas(self._framing)
        shown = item.shown("in_progress")
        if item.kind == "message":
            shown["content"] = []
        return self._event("response.output_item.added", {"output_index": item.index, "item": shown})

    def _item_done(self, item: OpenItem, status: str) -> str:
        fields = {"output_index": item.index, "item": item.shown(status)}
        return self._event("response.output_item.done", fields)

    def _open_message(self, part_id: str) -> Iterator[str]:
        item = OpenItem("message", self._prose_id("msg"), self._next_index)
        yield self._add(encode(part_id), item)
        part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
        yield self._event("response.content_part.added", self._of(item) | {"content_index": 0, "part": part})

    def _open_reasoning(self, name: str, item_id: str) -> Iterator[str]:
        item = OpenItem("reasoning", item_id, self._next_index)
        yield self._add(name, item)
        part = {"type": "summary_text", "text": ""}
        yield self._event(
            "response.reasoning_summary_part.added", self._of(item) | {"summary_index": 0, "part": part}
        )

    def _open_call(self, call_id: str, name: str) -> Iterator[str]:
        own = ids.client_call_id(self._turn.pk, self._step, call_id)
        suffix = f"_{self._attempt}" if self._attempt > 1 else ""
        item_id = f"fc_{own.removeprefix(ids.CALL)}{suffix}"
        item = OpenItem("function_call", item_id, self._next_index, name=name, call_id=own)
        self._part += 1
        yield self._add(encode(call_id), item)

    def _of(self, item: OpenItem) -> dict[str, Any]:
        return {"item_id": item.id, "output_index": item.index}

    def _close(self, name: str) -> Iterator[str]:
        """Finish a part of text or reasoning."""
        item = self._open.pop(name, None)
        self._current = NO_ITEM
        if item is None:
            return
        text = item.text
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

    def _finish_call(self, chunk: dict[str, Any]) -> Iterator[str]:
        """Finish a call of the client's tool; in a replay from rows it begins here as well."""
        name = encode(chunk["toolCallId"])
        if name not in self._open:
            yield from self._open_call(chunk["toolCallId"], chunk["toolName"])
        item = self._open.pop(name)
        self._current = NO_ITEM
        if not item.pieces and chunk["input"] not in ({}, ""):
            arguments = chunk["input"] if isinstance(chunk["input"], str) else encode(chunk["input"])
            item.add(arguments)
            yield self._event("response.function_call_arguments.delta", self._of(item) | {"delta": arguments})
        shown = item.shown("completed")
        fields = {"name": item.name, "arguments": shown["arguments"]}
        yield self._event("response.function_call_arguments.done", self._of(item) | fields)
        yield self._item_done(item, "completed")

    def _note_call(self, chunk: dict[str, Any]) -> Iterator[str]:
        """Show that a tool of ours is used, as a summary of reasoning."""
        item_id = response_object.tool_note_id(self._turn, self._step, chunk["toolCallId"])
        item_id += f"_{self._attempt}" if self._attempt > 1 else ""
        self._ours[chunk["toolCallId"]] = item_id
        arguments = chunk["input"] if isinstance(chunk["input"], str) else encode(chunk["input"])
        text = response_object.used_tool(chunk["toolName"], arguments, whole=self._shows_tools)
        yield from self._note(item_id, text)

    def _note_result(self, call_id: str, result: Any) -> Iterator[str]:
        if item_id := self._ours.get(call_id):
            yield from self._note(f"{item_id}_result", response_object.tool_result(result))

    def _note(self, item_id: str, text: str) -> Iterator[str]:
        yield from self._open_reasoning(item_id, item_id)
        item = self._open[item_id]
        item.add(text)
        fields = self._of(item) | {"summary_index": 0, "delta": text}
        yield self._event("response.reasoning_summary_text.delta", fields)
        yield from self._close(item_id)


def written(events: Iterable[str]) -> list[str]:
    """Return the events that the reader has not had."""
    return [event for event in events if event]
