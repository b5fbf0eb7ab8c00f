"""Carry: the data a model gives with an answer and wants back with the next request, kept whole and never read.

Providers sign or encrypt what their models thought, and answer 400 when it does not come back:

| provider | where it stands |
|---|---|
| Gemini | `extra_content.google.thought_signature` of a tool call, or of the message |
| DeepSeek, and servers of open models | `reasoning_content` or `reasoning` of the message |
| OpenRouter | `reasoning_details` of the message: text with a signature, summaries, encrypted entries |
| Anthropic behind a proxy such as LiteLLM | `thinking_blocks` of the message; `provider_specific_fields` |
| OpenAI behind a proxy | `encrypted_content`, alone or in `reasoning_items` |
| Anthropic Messages, OpenAI Responses | blocks and items of the answer, in their order: `llm.layout` |

Only the fields named below are taken, since whatever is taken goes back. A stream brings them in pieces. Prose is
joined; entries of a list are joined by type, index and id until a signature closes them; of anything else the newest
value stands.

A carry goes back to the model that gave it, at the endpoint that gave it, and to no other. It goes back with every
answer that the request holds, of earlier turns too: DeepSeek asks for all of a turn that called tools, in each later
request, and a prefix that stays the same can be cached. Two exceptions: plain reasoning text of an exchange without
tool calls is left out, because its providers ignore it there and it is often longer than the answer; and a provider
that refuses what it gave, because its keys have changed, is asked once more with that of the newest exchange alone.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from llm import limits

logger = logging.getLogger(__name__)

LAYOUT = "layout"  # the field of a carry that dialects of blocks and items use
CARRY = "carry"  # the key of a request's message under which the Carry of that answer stands
VOLATILE = (
    "volatile"  # the key of a message that changes from one request to the next; such messages come last
)
PROSE_FIELDS = frozenset({"reasoning_content", "reasoning"})
MESSAGE_FIELDS = PROSE_FIELDS | {
    "encrypted_content",
    "extra_content",
    "provider_specific_fields",
    "reasoning_details",
    "reasoning_items",
    "reasoning_opaque",
    "thinking_blocks",
    "thought_signature",
}
CALL_FIELDS = frozenset(
    {"encrypted_content", "extra_content", "provider_specific_fields", "signature", "thought_signature"}
)
ENTRY_PROSE = frozenset({"summary", "text", "thinking"})  # of an entry of a list
OPEN_ENTRIES = 64  # how many entries may grow at once; more would make a hostile stream costly to read

Fields = dict[str, Any]
Message = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Carry:
    """The carry of one answer; false when there is none. `text` is JSON in ASCII, which every database stores as is."""

    origin: str = ""
    text: str = field(default="", repr=False)

    def __bool__(self) -> bool:
        return bool(self.text)

    @classmethod
    def read(cls, stored: str) -> Self:
        """Return the carry that `stored` was called on."""
        origin, _, text = stored.partition(" ")
        return cls(origin=origin, text=text)

    def stored(self) -> str:
        """Return one line of ASCII text; empty if there is nothing to store."""
        return f"{self.origin} {self.text}" if self else ""

    def with_call_ids(self, ids: Mapping[str, str]) -> Carry:
        """Return the same carry with other ids of tool calls."""
        if not self or all(old == new for old, new in ids.items()):
            return self
        data = json.loads(self.text)
        calls = {ids.get(call_id, call_id): fields for call_id, fields in data["calls"].items()}
        return Carry(origin=self.origin, text=_write(data["message"], calls))

    def without_prose(self) -> Carry:
        """Return the same carry without plain reasoning text."""
        data = json.loads(self.text)
        message = {name: value for name, value in data["message"].items() if name not in PROSE_FIELDS}
        if message == data["message"]:
            return self
        return Carry(origin=self.origin, text=_write(message, data["calls"]))

    def layout(self) -> list[Fields]:
        """Return the order of the parts of the answer, with the opaque ones whole; see `llm.layout`."""
        layout = json.loads(self.text)["message"].get(LAYOUT) if self else None
        return layout if isinstance(layout, list) else []

    def strings(self) -> list[str]:
        """Return every text in it, for the code that keeps these out of the logs."""
        return list(_strings(json.loads(self.text))) if self else []

    def put_into(self, message: Message, *, without: Collection[str] = ()) -> Fields:
        """Return the message and its tool calls with what the model sent along with them."""
        data = json.loads(self.text)
        given = {name: value for name, value in data["message"].items() if name not in without}
        whole = {name: value for name, value in message.items() if name != CARRY} | given
        if message.get("tool_calls"):
            whole["tool_calls"] = [
                dict(call)
                | {
                    name: value
                    for name, value in data["calls"].get(call["id"], {}).items()
                    if name not in without
                }
                for call in message["tool_calls"]
            ]
        return whole


NO_CARRY = Carry()


def needed(messages: Sequence[Message], origin: str) -> list[Message]:
    """Return the messages, each with the part of its carry that this model wants back; see the module's docstring."""
    kept: list[Message] = []
    for exchange in _exchanges(messages):
        calls_tools = any(message.get("tool_calls") for message in exchange)
        kept += [_trimmed(message, origin, with_prose=calls_tools) for message in exchange]
    return kept


def give_back(messages: Sequence[Message], origin: str, *, without: Collection[str] = ()) -> list[Message]:
    """Return the messages as sent to this model; `without` names fields that it has refused."""
    return [
        message[CARRY].put_into(message, without=without) if CARRY in message else message
        for message in needed(messages, origin)
    ]


def only_newest(messages: Sequence[Message]) -> list[Message]:
    """Return the messages without the carries before the user's newest text."""
    texts = [place for place, each in enumerate(messages) if each.get("role") == "user" and _is_text(each)]
    begins = texts[-1] if texts else 0
    return [*needed(messages[:begins], ""), *messages[begins:]]


class CarryCollector:
    """Gathers the carry of one answer out of the pieces of its stream."""

    def __init__(self) -> None:
        self._message: Fields = {}
        self._calls: dict[int, Fields] = {}

    def take_message(self, delta: Message) -> None:
        """Take what a piece of the message holds."""
        if not MESSAGE_FIELDS.isdisjoint(delta):
            _take(self._message, delta, MESSAGE_FIELDS)

    def take_call(self, index: int, piece: Message) -> None:
        """Take what a piece of a tool call holds; `index` is the place of the call in the answer."""
        if not CALL_FIELDS.isdisjoint(piece):
            _take(self._calls.setdefault(index, {}), piece, CALL_FIELDS)

    def set_layout(self, layout: list[Fields]) -> None:
        """Take the order of the answer's parts, of a dialect whose answers consist of blocks or items."""
        self._message[LAYOUT] = layout

    def carry(self, origin: str, call_ids: Sequence[str]) -> Carry:
        """Return the whole; nothing when it cannot be kept, which is logged without a value."""
        if not _is_shallow((self._message, self._calls), limits.MAX_CARRY_DEPTH + 2):
            return _dropped("it is nested too deeply")
        message = _finished(self._message)
        calls = {call_ids[index]: _finished(fields) for index, fields in self._calls.items()}
        calls = {call_id: fields for call_id, fields in calls.items() if fields}
        if not message and not calls:
            return NO_CARRY
        try:
            text = _write(message, calls)
        except ValueError:  # Python reads NaN and Infinity, which no server takes back
            return _dropped("it cannot be written as JSON")
        if len(text) > limits.MAX_CARRY_CHARACTERS:
            return _dropped(f"it has {len(text)} characters")
        return Carry(origin=origin, text=text)


# --- giving back ----------------------------------------------------------------------------------


def _exchanges(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """Yield the messages in groups: each message of the user with all that follows up to the next."""
    exchange: list[Message] = []
    for message in messages:
        if message.get("role") == "user" and exchange:
            yield exchange
            exchange = []
        exchange.append(message)
    yield exchange


def _is_text(message: Message) -> bool:
    """Return whether the user wrote it; facts and pictures have their own messages after all others."""
    return isinstance(message.get("content"), str) and VOLATILE not in message


def _trimmed(message: Message, origin: str, *, with_prose: bool) -> Message:
    carry: Carry | None = message.get(CARRY)
    if carry is None:
        return message
    if carry and carry.origin == origin:
        carry = carry if with_prose else carry.without_prose()
        if carry:
            return {**message, CARRY: carry}
    return {name: value for name, value in message.items() if name != CARRY}


# --- collecting -----------------------------------------------------------------------------------


class _Prose:
    """Text that grows; a list, because adding to a long string copies it."""

    def __init__(self) -> None:
        self.pieces: list[str] = []


def _take(fields: Fields, piece: Message, names: Collection[str]) -> None:
    for name in piece.keys() & names:
        value = piece[name]
        if isinstance(value, dict):
            known = fields.get(name)
            known = fields[name] = known if isinstance(known, dict) else {}
            for key, inner in value.items():
                _add(known, key, inner)
        else:
            _add(fields, name, value)


def _add(fields: Fields, name: str, value: Any) -> None:
    if isinstance(value, str) and name in PROSE_FIELDS:
        _add_prose(fields, name, value)
    elif isinstance(value, list):
        _add_entries(fields, name, value)
    elif value is not None and (name not in fields or value != ""):
        fields[name] = value


def _add_prose(fields: Fields, name: str, text: str) -> None:
    if not isinstance(fields.get(name), _Prose):
        fields[name] = _Prose()
    fields[name].pieces.append(text)


def _add_entries(fields: Fields, name: str, entries: list[Any]) -> None:
    known = fields.get(name)
    if not isinstance(known, list):
        known = fields[name] = []
    for entry in entries:
        if not isinstance(entry, dict):
            known.append(entry)
            continue
        opened = _continued(known, entry)
        if opened is None:
            opened = {}
            known.append(opened)
        _extend(opened, entry)


def _continued(known: list[Any], entry: Fields) -> Fields | None:
    """Return the entry that this piece continues; None if it starts one."""
    looked_at = OPEN_ENTRIES if entry.get("index") is not None else 1
    for candidate in reversed(known[-looked_at:]):
        if isinstance(candidate, dict) and _is_same(candidate, entry):
            return None if _is_closed(candidate, entry) else candidate
    return None


def _is_same(known: Fields, entry: Fields) -> bool:
    return known.get("type") == entry.get("type") and all(
        entry.get(name) in (None, known.get(name)) or known.get(name) is None for name in ("index", "id")
    )


def _is_closed(known: Fields, entry: Fields) -> bool:
    """Encrypted entries come whole, and what follows a signature is not covered by it."""
    whole = any(part.get(name) for part in (known, entry) for name in ("data", "encrypted_content"))
    return whole or bool(known.get("signature") and any(entry.get(name) for name in ENTRY_PROSE))


def _extend(entry: Fields, piece: Fields) -> None:
    for name, value in piece.items():
        if name in ENTRY_PROSE and isinstance(value, str):
            _add_prose(entry, name, value)
        elif name not in entry or value not in (None, ""):
            entry[name] = value  # null as well: what was there comes back


def _finished(fields: Fields) -> Fields:
    """Return the fields as plain JSON, without empty ones, except for reasoning text, which DeepSeek wants back."""
    return {
        name: _plain(value)
        for name, value in fields.items()
        if isinstance(value, _Prose) or value not in ("", [], {})
    }


def _plain(value: Any) -> Any:
    match value:
        case _Prose():
            return "".join(value.pieces)
        case list():
            return [_plain(inner) for inner in value]
        case dict():
            return {name: _plain(inner) for name, inner in value.items()}
        case _:
            return value


def _write(message: Fields, calls: Mapping[str, Fields]) -> str:
    """Return JSON in ASCII: NUL and lone surrogates are escaped and survive a round trip."""
    if not message and not calls:
        return ""
    return json.dumps({"message": message, "calls": calls}, allow_nan=False, separators=(",", ":"))


def _is_shallow(value: Any, levels: int) -> bool:
    if isinstance(value, Mapping):
        value = value.values()
    elif not isinstance(value, list | tuple):
        return True
    return levels > 0 and all(_is_shallow(inner, levels - 1) for inner in value)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)


def _dropped(why: str) -> Carry:
    logger.warning("The data that a model wants back was dropped: %s", why)
    return NO_CARRY
