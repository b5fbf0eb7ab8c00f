"""OpenAI Responses: input and output items, encrypted reasoning that comes back, nothing stored at the provider."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import Any

from llm.answer import AnswerCollector, GrowingCall, mapping
from llm.carry import CARRY, needed
from llm.dialects.base import UNWANTED, Dialect, wire_id
from llm.layout import AnswerPart, parts_of
from llm.types import Delta, Request, ToolSpec

LEAST_OUTPUT_TOKENS = 1_024  # reasoning counts as output: with less there may be no text after it
ENCRYPTED = "reasoning.encrypted_content"
STATUSES = {  # what the code of an error inside a stream stands for
    "server_error": 500,
    "vector_store_timeout": 504,
    "rate_limit_exceeded": 429,
    "invalid_prompt": 400,
    "data_residency_mismatch": 400,
    "invalid_image": 400,
    "invalid_image_format": 400,
    "invalid_base64_image": 400,
    "image_too_large": 400,
    "image_parse_error": 400,
    "unsupported_image_media_type": 400,
}
POLICY_CODES = ("bio_policy", "misalignment_policy_violation", "image_content_policy_violation")

Item = dict[str, Any]
Message = Mapping[str, Any]


class ResponsesDialect(Dialect):
    """Writes requests of the Responses API."""

    path = "/responses"
    optional = ("temperature", "include", "reasoning", "safety_identifier", "text", "store")

    def body(self, request: Request, model: str) -> dict[str, Any]:
        said = needed(request.messages, self._origin)
        opening = list(takewhile(lambda message: message["role"] == "system", said))
        body: dict[str, Any] = {
            "model": model,
            "input": [item for message in said[len(opening) :] for item in _items(message)],
            "stream": True,
            "store": False,
            "include": [ENCRYPTED],
            "reasoning": {"summary": "auto"} | ({"effort": self._effort} if self._effort else {}),
        }
        if opening:
            body["instructions"] = "\n\n".join(message["content"] for message in opening)
        if request.tools:
            body["tools"] = [_tool(tool) for tool in request.tools]
            body |= _tool_choice(request)
        return body | _options(request)

    def answer(self, on_delta: Callable[[Delta], None]) -> AnswerCollector:
        return ResponsesAnswer(on_delta)

    def _adapt(self, text: str, sent: Mapping[str, Any]) -> bool:
        lower = text.lower()
        if "include" in sent and "encrypted content is not supported" in lower:
            self._refused |= {"include"}
            return True
        if "reasoning" in sent and "reasoning summaries" in lower:  # an organisation that is not verified
            self._refused |= {"reasoning"}
            return True
        is_about_option = not text.startswith((" ", "input")) or UNWANTED.search(text)
        return bool(is_about_option) and super()._adapt(text, sent)  # and not about an item that came back


class ResponsesAnswer(AnswerCollector):
    """Reads the events of a response."""

    def __init__(self, on_delta: Callable[[Delta], None]) -> None:
        super().__init__(on_delta)
        self._items: dict[int, _OpenItem] = {}

    def _take_chunk(self, chunk: Mapping[str, Any]) -> None:
        if chunk.get("object") == "response":
            self._take_response(chunk)
            return
        kind = chunk["type"]
        self.chunks += 1
        if kind == "response.output_text.delta":
            self._items[chunk["output_index"]].characters += self._add_text(chunk["delta"])
        elif kind in ("response.reasoning_summary_text.delta", "response.reasoning_text.delta"):
            self._take_thought(self._items[chunk["output_index"]], chunk)
        elif kind == "response.function_call_arguments.delta":
            self._take_arguments(self._items[chunk["output_index"]], chunk["delta"])
        elif kind == "response.output_item.added":
            self._open_item(chunk["output_index"], chunk["item"])
        elif kind == "response.output_item.done":
            self._close_item(chunk["output_index"], chunk["item"])
        elif kind == "response.refusal.delta":
            self._refusal.append(str(chunk["delta"]))
        elif kind in ("response.completed", "response.incomplete", "response.failed"):
            self._take_response(chunk["response"])
        elif kind == "error":
            raise self._reported(chunk.get("error") or chunk)

    def _open_item(self, index: int, start: Mapping[str, Any]) -> _OpenItem:
        item = self._items[index] = _OpenItem(start)
        if item.kind == "function_call":
            wire_call = str(start.get("call_id") or "")
            item.call = self._open_call(wire_id=wire_call, wire_index=None, name=str(start["name"]))
            self._add_arguments(item.call, None)
        return item

    def _take_thought(self, item: _OpenItem, chunk: Mapping[str, Any]) -> None:
        """Add a piece of the reasoning; its parts are separated by a blank line."""
        part = (chunk["type"], chunk.get("summary_index"), chunk.get("content_index"))
        between = "\n\n" if item.thought not in (None, part) else ""
        item.thought = part
        self._take_reasoning(between + chunk["delta"])

    def _take_arguments(self, item: _OpenItem, arguments: str) -> None:
        if item.call is not None:
            self._add_arguments(item.call, arguments)

    def _close_item(self, index: int, whole: Mapping[str, Any]) -> None:
        """Read the complete item: its opaque parts, and what was not streamed."""
        item = self._items.get(index) or self._open_item(index, whole)
        if item.closed is not None:
            return
        item.closed = dict(whole)
        if item.kind == "message" and not item.characters:
            for part in whole.get("content") or ():
                self._take_part(item, part)
        elif item.call is not None and not item.call.arguments:
            self._add_arguments(item.call, whole.get("arguments"))
        elif item.kind == "reasoning" and item.thought is None:
            texts = [str(part["text"]) for part in whole.get("summary") or ()]
            if texts:
                self._take_reasoning("\n\n".join(texts))

    def _take_part(self, item: _OpenItem, part: Mapping[str, Any]) -> None:
        if part["type"] == "refusal":
            if not self._refusal:
                self._refusal.append(str(part["refusal"]))
            return
        item.characters += self._add_text(part.get("text") or "")

    def _take_response(self, response: Mapping[str, Any]) -> None:
        """Read the whole response at the end of its stream, or in place of one."""
        self.chunks += 1
        status = response["status"]
        if status in ("failed", "cancelled"):
            raise self._reported(response.get("error") or {"code": "server_error", "message": status})
        for index, item in enumerate(response.get("output") or ()):
            self._close_item(index, item)
        self._finish = "stop"
        if status == "incomplete":
            reason = mapping(response.get("incomplete_details")).get("reason")
            self._finish = str(reason or "length").lower()
        usage = response.get("usage")
        if isinstance(usage, Mapping):
            self._take_usage(usage)
        self.done = True

    def _take_usage(self, usage: Mapping[str, Any]) -> None:
        details = mapping(usage.get("input_tokens_details"))
        self._set_usage(
            input=usage.get("input_tokens"),
            output=usage.get("output_tokens"),
            cached=details.get("cached_tokens"),
            written=details.get("cache_write_tokens"),
            reasoning=mapping(usage.get("output_tokens_details")).get("reasoning_tokens"),
        )

    def _reported(self, error: Any) -> Exception:
        if mapping(error).get("code") in POLICY_CODES:
            error = {**error, "code": "content_filter"}
        return self._error(error, STATUSES)

    def _layout(self) -> list[dict[str, Any]]:
        items = list(self._items.values())
        kept = any(item.is_kept for item in items)
        return [entry for item in items for entry in item.entries()] if kept else []


class _OpenItem:
    """An output item that is still arriving."""

    def __init__(self, start: Mapping[str, Any]) -> None:
        self.kind = str(start["type"])
        self.characters = 0
        self.call: GrowingCall | None = None
        self.thought: tuple[object, ...] | None = None  # the part of the reasoning that was read last
        self.closed: Item | None = None

    @property
    def is_kept(self) -> bool:
        """Whether it has opaque parts that the model wants back."""
        return self.closed is not None and (self.kind == "reasoning" or bool(self.closed.get("phase")))

    def entries(self) -> list[Item]:
        """Return its entry in the layout; none for an item that is not sent back."""
        whole = self.closed or {}
        if self.kind == "reasoning":
            return (
                [{"given": {name: value for name, value in whole.items() if value is not None}}]
                if whole
                else []
            )
        extra = {name: whole[name] for name in ("id", "phase") if whole.get(name)}
        if self.call is not None:
            return [{"call": self.call.index, "as": extra}]
        return [{"text": self.characters, "as": extra}] if self.characters else []


# --- writing --------------------------------------------------------------------------------------


def _tool_choice(request: Request) -> dict[str, Any]:
    """Return how tools are chosen, where the request says so."""
    forced = mapping(mapping(request.tool_choice).get("function")).get("name")
    options: dict[str, Any] = {}
    if request.tool_choice is not None:
        options["tool_choice"] = {"type": "function", "name": forced} if forced else request.tool_choice
    if request.parallel_tool_calls is not None:
        options["parallel_tool_calls"] = request.parallel_tool_calls
    return options


def _options(request: Request) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if request.temperature is not None:
        options["temperature"] = request.temperature
    if request.max_output_tokens is not None:
        options["max_output_tokens"] = max(request.max_output_tokens, LEAST_OUTPUT_TOKENS)
    if request.user:
        options["safety_identifier"] = request.user
    if request.response_format is not None:
        schema = mapping(request.response_format.get("json_schema"))
        options["text"] = {"format": {"type": request.response_format["type"], **schema}}
    return options


def _items(message: Message) -> list[Item]:
    match message["role"]:
        case "assistant":
            return _said(message)
        case "tool":
            call_id = wire_id(message["tool_call_id"])
            return [{"type": "function_call_output", "call_id": call_id, "output": message["content"]}]
        case role:
            return [{"type": "message", "role": role, "content": _content(message["content"])}]


def _said(message: Message) -> list[Item]:
    carry = message.get(CARRY)
    parts = parts_of(
        message.get("content") or "", message.get("tool_calls") or (), carry.layout() if carry else ()
    )
    return [_item_of(part) for part in parts]


def _item_of(part: AnswerPart) -> Item:
    if part.given is not None:
        return dict(part.given)
    if part.call is not None:
        function = part.call["function"]
        call = {"type": "function_call", "call_id": wire_id(part.call["id"]), "name": function["name"]}
        return call | {"arguments": function["arguments"] or "{}"} | dict(part.extra)
    message: Item = {"type": "message", "role": "assistant"}
    if "id" not in part.extra:  # of another model: no output item of this provider
        return message | {"content": part.text} | dict(part.extra)
    content: list[Item] = [{"type": "output_text", "text": part.text, "annotations": []}]
    return message | {"status": "completed", "content": content} | dict(part.extra)


def _content(content: str | Sequence[Mapping[str, Any]] | None) -> list[Item]:
    if content is None or isinstance(content, str):
        return [{"type": "input_text", "text": content or ""}]
    return [
        {"type": "input_image", "image_url": part["image_url"]["url"], "detail": "auto"}
        if part.get("type") == "image_url"
        else {"type": "input_text", "text": str(part.get("text") or "")}
        for part in content
    ]


def _tool(tool: ToolSpec) -> Item:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {
        "type": "function",
        **function,
        "strict": False,
    }  # strict is the default here, and refuses most schemas
