"""Anthropic Messages: content blocks, signed thinking, cache marks, and the events of its stream."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import Any

from llm.answer import AnswerCollector, GrowingCall, mapping
from llm.carry import CARRY, VOLATILE, needed
from llm.dialects.base import UNWANTED, Dialect, wire_id
from llm.endpoint import Endpoint
from llm.layout import AnswerPart, parts_of
from llm.types import Delta, FinishReason, Request, ToolSpec

VERSION = "2023-06-01"
MARK = {
    "type": "ephemeral"
}  # of the prompt cache; a request may have four: tools, system, and two of messages
MARKED_MESSAGES = 2
MARKABLE = frozenset({"text", "image", "tool_use", "tool_result"})
USUAL_OUTPUT_TOKENS = 32_000  # the protocol requires a cap; a model that allows less says so in its error
LEAST_OUTPUT_TOKENS = 1_024  # thinking counts as output: with less there may be no text after it
# Claude 4.6 and later decide for themselves how much to think; earlier ones do not think unless given a budget.
ADAPTIVE = re.compile(r"claude-[a-z]+-(4[-.][6-9]|[5-9]\b|\d\d)", re.IGNORECASE)
MOST_TOKENS = re.compile(r"max_tokens.{0,40}?> ?(\d+)")
NOTE = "[Note of the system, not of the person]"
BEGINNING = "(The conversation begins here.)"
NO_TEXT = "(no text)"
STATUSES = {  # what the type of an error inside a stream stands for
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}

Block = dict[str, Any]
Message = Mapping[str, Any]


class AnthropicDialect(Dialect):
    """Writes requests of the Messages API."""

    path = "/messages"
    optional = ("temperature", "thinking", "metadata", "output_config")

    def __init__(self, *, origin: str = "", is_openai: bool = False, effort: str = "") -> None:
        super().__init__(origin=origin, is_openai=is_openai, effort=effort)
        self._most_tokens: int | None = None

    @staticmethod
    def headers(endpoint: Endpoint) -> Mapping[str, str | None]:
        return {"x-api-key": endpoint.api_key, "anthropic-version": VERSION, "Authorization": None}

    def body(self, request: Request, model: str) -> dict[str, Any]:
        said = needed(request.messages, self._origin)
        opening = list(takewhile(lambda message: message["role"] == "system", said))
        system = [_text(message["content"]) for message in opening if message["content"]]
        tools = [_tool(tool) for tool in request.tools]
        turns = self._turns(said[len(opening) :], marks=[system, tools])
        body: dict[str, Any] = {
            "model": model,
            "max_tokens": self._cap(request, model),
            "stream": True,
            "messages": turns,
            **({"system": system} if system else {}),
            **({"tools": tools} if tools else {}),
        }
        if tools and (choice := _tool_choice(request)):
            body["tool_choice"] = choice
        return body | self._options(request, model)

    def answer(self, on_delta: Callable[[Delta], None]) -> AnswerCollector:
        return AnthropicAnswer(on_delta)

    def _cap(self, request: Request, model: str) -> int:
        wanted = request.max_output_tokens or USUAL_OUTPUT_TOKENS
        wanted = max(wanted, LEAST_OUTPUT_TOKENS) if ADAPTIVE.search(model) else wanted
        return wanted if self._most_tokens is None else min(wanted, self._most_tokens)

    def _options(self, request: Request, model: str) -> dict[str, Any]:
        options: dict[str, Any] = {}
        if ADAPTIVE.search(model):  # which take no temperature but their own
            options["thinking"] = {"type": "adaptive", "display": "summarized"}
        elif request.temperature is not None:
            options["temperature"] = request.temperature
        if request.user:
            options["metadata"] = {"user_id": request.user}
        output: dict[str, Any] = {}
        if schema := _schema(request.response_format):
            output["format"] = {"type": "json_schema", "schema": schema}
        if self._effort and "effort" not in self._refused:
            output["effort"] = self._effort
        return options | ({"output_config": output} if output else {})

    def _turns(self, messages: Sequence[Message], *, marks: list[list[Block]]) -> list[Block]:
        """Return the messages as alternating turns of content blocks, with the marks of the prompt cache.

        What changes from one request to the next comes last, behind the marks.
        """
        stable = [message for message in messages if VOLATILE not in message]
        volatile = [message for message in messages if VOLATILE in message]
        turns: list[Block] = []
        for message in stable:
            _append(turns, *_blocks(message))
        if "cache_control" not in self._refused:
            sent = [turn["content"] for turn in turns if turn["role"] == "user"]
            for blocks in [*marks, *sent[-MARKED_MESSAGES:]]:
                _mark(blocks)
        for message in volatile:
            _append(turns, *_blocks(message))
        if not turns or turns[0]["role"] != "user":
            turns.insert(0, {"role": "user", "content": [_text(BEGINNING)]})
        return turns

    def _adapt(self, text: str, sent: Mapping[str, Any]) -> bool:
        if (most := MOST_TOKENS.search(text)) and 0 < int(most[1]) < sent["max_tokens"]:
            self._most_tokens = int(most[1])
            return True
        if "cache_control" in text and UNWANTED.search(text) and "cache_control" not in self._refused:
            self._refused |= {"cache_control"}
            return True
        if "format" in sent.get("output_config", {}) and "structured output" in text.lower():
            self._refused |= {"output_config"}
            return True
        if "effort" in sent.get("output_config", {}) and "effort" in text:
            self._refused |= {"effort"}  # and not the format, which is in the same object
            return True
        if text.lstrip().startswith("messages."):  # about thinking that came back, not about the option
            return False
        if "thinking" in sent and re.search(r"adaptive thinking|^ ?thinking\b", text):
            self._refused |= {"thinking"}
            return True
        return super()._adapt(text, sent)


class AnthropicAnswer(AnswerCollector):
    """Reads the events of a message."""

    def __init__(self, on_delta: Callable[[Delta], None]) -> None:
        super().__init__(on_delta)
        self._blocks: dict[int, _OpenBlock] = {}
        self._tokens: dict[str, Any] = {}

    def _take_chunk(self, chunk: Mapping[str, Any]) -> None:
        kind = chunk["type"]
        self.chunks += 1
        if kind == "content_block_delta":
            self._take_delta(self._blocks[chunk["index"]], chunk["delta"])
        elif kind == "content_block_start":
            self._take_block(chunk["index"], chunk["content_block"])
        elif kind == "message_start":
            self._take_usage(mapping(chunk["message"].get("usage")))
        elif kind == "message_delta":
            self._take_end(chunk["delta"])
            self._take_usage(mapping(chunk.get("usage")))
        elif kind == "message_stop":
            self.done = True
        elif kind == "error":
            raise self._error(chunk["error"], STATUSES)
        elif kind == "message":
            self._take_message(chunk)

    def _take_delta(self, block: _OpenBlock, delta: Mapping[str, Any]) -> None:
        kind = delta["type"]
        if kind == "text_delta":
            block.characters += self._add_text(delta["text"])
        elif kind == "thinking_delta":
            self._take_reasoning(delta["thinking"])
            block.add("thinking", delta["thinking"])
        elif kind == "signature_delta":
            block.add("signature", delta["signature"])
        elif kind == "input_json_delta" and block.call is not None:
            self._add_arguments(block.call, delta["partial_json"])

    def _take_block(self, index: int, start: Mapping[str, Any]) -> None:
        block = self._blocks[index] = _OpenBlock(start)
        if block.kind == "text" and start.get("text"):
            block.characters += self._add_text(start["text"])
        elif block.kind == "thinking" and start.get("thinking"):
            self._take_reasoning(start["thinking"])
        elif block.kind == "tool_use":
            name, wire_id = str(start["name"]), str(start.get("id") or "")
            block.call = self._open_call(wire_id=wire_id, wire_index=None, name=name)
            self._add_arguments(block.call, start.get("input") or None)

    def _take_end(self, delta: Mapping[str, Any]) -> None:
        reason = delta.get("stop_reason")
        if reason:
            self._finish = str(reason).lower()
            self._refusal += [
                str(why) for why in [mapping(delta.get("stop_details")).get("explanation")] if why
            ]

    def _take_message(self, message: Mapping[str, Any]) -> None:
        """Read a whole message in place of a stream."""
        for index, block in enumerate(message["content"]):
            self._take_block(index, block)
        self._take_end(message)
        self._take_usage(mapping(message.get("usage")))

    def _take_usage(self, usage: Mapping[str, Any]) -> None:
        """Record the usage; `input_tokens` excludes the cache, and later reports add to the first."""
        self._tokens.update({name: value for name, value in usage.items() if value is not None})
        counts = [
            self._tokens.get(name, 0)
            for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        ]
        if not usage or not all(isinstance(count, int) for count in counts):
            return
        self._set_usage(
            input=sum(counts),
            output=self._tokens.get("output_tokens"),
            cached=counts[1],
            written=counts[2],
            reasoning=mapping(self._tokens.get("output_tokens_details")).get("thinking_tokens"),
        )

    def _is_refused(self, reason: FinishReason) -> bool:
        """Return whether a filter has stopped the answer: what came before is not one, as the protocol says."""
        return self._finish == "refusal" or super()._is_refused(reason)

    def _layout(self) -> list[dict[str, Any]]:
        blocks = list(self._blocks.values())
        kept = any(block.is_opaque for block in blocks)
        return [entry for block in blocks for entry in block.entries()] if kept else []


class _OpenBlock:
    """A content block that is still arriving."""

    def __init__(self, start: Mapping[str, Any]) -> None:
        self.kind = str(start["type"])
        self.characters = 0
        self.call: GrowingCall | None = None
        self._start = dict(start)
        self._grown: dict[str, list[str]] = {}

    @property
    def is_opaque(self) -> bool:
        return self.kind in ("thinking", "redacted_thinking")

    def add(self, name: str, piece: object) -> None:
        if not isinstance(piece, str):
            raise TypeError(f"its {name} is no text")
        self._grown.setdefault(name, [str(self._start.get(name) or "")]).append(piece)

    def entries(self) -> list[dict[str, Any]]:
        """Return its entry in the layout; none for a block of a kind that is not sent back."""
        if self.is_opaque:
            grown = {name: "".join(pieces) for name, pieces in self._grown.items()}
            return [{"given": self._start | grown}]
        if self.call is not None:
            return [{"call": self.call.index}]
        return [{"text": self.characters}] if self.characters else []


# --- writing --------------------------------------------------------------------------------------


def _blocks(message: Message) -> tuple[str, list[Block]]:
    """Return the role of a message, and its blocks."""
    match message["role"]:
        case "assistant":
            return "assistant", _said(message)
        case "tool":
            result = {"type": "tool_result", "tool_use_id": wire_id(message["tool_call_id"])}
            return "user", [result | {"content": message["content"]}]
        case "system":
            return "user", [_text(f"{NOTE}\n{message['content']}")]
        case _:
            return "user", _content(message["content"]) or [_text(NO_TEXT)]


def _append(turns: list[Block], role: str, blocks: list[Block]) -> None:
    """Add blocks to the last turn of that role: all results of a step must be in one message."""
    if not blocks:
        return
    if turns and turns[-1]["role"] == role:
        turns[-1]["content"].extend(blocks)
    else:
        turns.append({"role": role, "content": list(blocks)})


def _said(message: Message) -> list[Block]:
    carry = message.get(CARRY)
    parts = parts_of(
        message.get("content") or "", message.get("tool_calls") or (), carry.layout() if carry else ()
    )
    return [block for part in parts for block in _block_of(part)]


def _block_of(part: AnswerPart) -> list[Block]:
    if part.given is not None:
        return [dict(part.given)]
    if part.call is not None:
        function = part.call["function"]
        use = {"type": "tool_use", "id": wire_id(part.call["id"]), "name": function["name"]}
        return [use | {"input": _arguments(function["arguments"])}]
    return [_text(part.text)] if part.text and part.text.strip() else []  # a blank block is refused


def _arguments(text: str) -> dict[str, Any]:
    try:
        arguments = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {"unreadable": text[:1_000]}
    return arguments if isinstance(arguments, dict) else {"value": arguments}


def _content(content: str | Sequence[Mapping[str, Any]] | None) -> list[Block]:
    if content is None or isinstance(content, str):
        return [_text(content)] if content and content.strip() else []
    return [block for part in content for block in _content_part(part)]


def _content_part(part: Mapping[str, Any]) -> list[Block]:
    if part.get("type") != "image_url":
        return _content(part.get("text"))
    url: str = part["image_url"]["url"]
    head, _, data = url.partition(",")
    if not head.startswith("data:"):
        return [{"type": "image", "source": {"type": "url", "url": url}}]
    media_type = head.removeprefix("data:").partition(";")[0]
    return [{"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}]


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _tool(tool: ToolSpec) -> Block:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}


def _mark(blocks: list[Block]) -> None:
    """Mark the last block that may be marked; a tool has no type."""
    for block in reversed(blocks):
        if block.get("type", "text") in MARKABLE:
            block["cache_control"] = MARK
            return


def _schema(response_format: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return the JSON schema that an answer must follow; this API has no mode for arbitrary JSON."""
    wanted = mapping(mapping(response_format).get("json_schema"))
    return wanted.get("schema")


def _tool_choice(request: Request) -> dict[str, Any]:
    """Return the choice of tools in this protocol's words; empty to leave it to the model."""
    forced = mapping(mapping(request.tool_choice).get("function")).get("name")
    choice: dict[str, Any] = {"type": "tool", "name": forced} if forced else {}
    if request.tool_choice == "required":
        choice = {"type": "any"}
    if request.parallel_tool_calls is False:
        choice = (choice or {"type": "auto"}) | {"disable_parallel_tool_use": True}
    return choice
