"""Model servers in three dialects: real HTTP, one script rendered in each protocol, requests checked as documented."""

from __future__ import annotations

import contextlib
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-test-canary-0123456789"
OPAQUE = "OPAQUE+\x00\ud800é/日本=="  # what no text column of PostgreSQL takes must come back all the same
ALIEN_ID = "call.1/é"
Event = dict[str, Any]


class Invalid(Exception):
    """The request breaks a documented rule of the protocol."""


@dataclass(frozen=True, kw_only=True)
class Script:
    """One answer, in no dialect; `calls` are (id, name, pieces of arguments)."""

    text: tuple[str, ...] = ()
    thoughts: tuple[str, ...] = ()
    redacted: bool = False
    calls: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    stop: str = "stop"
    usage: dict[str, int] | None = None
    text_first: bool = False  # then a thought stands between the text and the calls


@dataclass(kw_only=True)
class Fault:
    """What goes wrong with the next answers; `times` counts down."""

    times: int = 1
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    error: dict[str, Any] = field(default_factory=dict)
    error_event_at: int | None = None
    cut_at: int | None = None  # the connection breaks
    end_at: int | None = None  # the stream ends in good order, too early
    hang_at: int | None = None
    garbage_at: int | None = None
    garbage: bytes = b"data: {this is no json\n\n"
    whole: bool = False


@dataclass(kw_only=True)
class Asked:
    """One request as the server saw it."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    closed_early: bool = False


class ModelServer:
    """Answers with the scripts in their order, the last one again and again, and keeps what it gave with each."""

    def __init__(self, protocol: Protocol) -> None:
        self.protocol = protocol
        self.scripts: list[Script] = [Script(text=("hi",))]
        self.faults: list[Fault] = []
        self.asked: list[Asked] = []
        self.refusals: list[str] = []
        self.check: Callable[[dict[str, Any]], None] = lambda body: None
        self.choose: Callable[[dict[str, Any]], Script | None] = lambda body: None
        self.pause = 0.0
        self.port = 0
        self.answers = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def play(self, *scripts: Script) -> None:
        self.scripts = list(scripts)

    def respond(self, handler: BaseHTTPRequestHandler, asked: Asked) -> None:
        fault = self._due()
        if fault is not None and fault.status:
            self._refuse(handler, fault.status, fault.error, fault.headers)
            return
        try:
            self.check(asked.body)
            self.protocol.check(asked)
        except Invalid as error:
            self.refusals.append(str(error))
            self._refuse(handler, 400, {"type": "invalid_request_error", "message": str(error)}, {})
            return
        chosen = self.choose(asked.body)
        script = chosen or self.scripts[min(self.answers, len(self.scripts) - 1)]
        events = self.protocol.events(script, len(self.asked))
        if fault is None and chosen is None:
            self.answers += 1
            self.protocol.remember(script)
        if fault is not None and fault.whole:
            self.answers += 1
            self._send(handler, 200, "application/json", json.dumps(self.protocol.whole(script)).encode(), {})
            return
        self._stream(handler, asked, events, fault)

    def _due(self) -> Fault | None:
        for fault in self.faults:
            if fault.times > 0:
                fault.times -= 1
                return fault
        return None

    def _refuse(
        self, handler: BaseHTTPRequestHandler, status: int, error: Event, headers: dict[str, str]
    ) -> None:
        body = {"type": "error", "error": {"type": "x", "message": "refused"} | error}
        self._send(handler, status, "application/json", json.dumps(body).encode(), headers)

    def _send(
        self, handler: BaseHTTPRequestHandler, status: int, kind: str, body: bytes, headers: dict[str, str]
    ) -> None:
        handler.send_response(status)
        for name, value in {"content-type": kind, "content-length": str(len(body)), **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    def _stream(
        self, handler: BaseHTTPRequestHandler, asked: Asked, events: list[bytes], fault: Fault | None
    ) -> None:
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream; charset=utf-8")
        handler.send_header("transfer-encoding", "chunked")
        handler.end_headers()
        try:
            for number, event in enumerate(events):
                if fault is not None and self._broken(handler, number, fault):
                    return
                self._write(handler, event)
                time.sleep(self.pause)
            handler.wfile.write(b"0\r\n\r\n")
        except OSError:
            asked.closed_early = True

    def _broken(self, handler: BaseHTTPRequestHandler, number: int, fault: Fault) -> bool:
        """Whether the stream ends before this event; what the fault wants is done."""
        if number == fault.cut_at:
            time.sleep(0.05)  # a client that finds the connection broken may not look at what came before
            return True
        if number == fault.end_at:
            handler.wfile.write(b"0\r\n\r\n")
            return True
        if number == fault.hang_at:
            time.sleep(1.0)
            return True
        if number == fault.garbage_at:
            self._write(handler, fault.garbage)
        if number == fault.error_event_at:
            self._write(handler, self.protocol.error_event(fault.error))
            handler.wfile.write(b"0\r\n\r\n")
            return True
        return False

    def _write(self, handler: BaseHTTPRequestHandler, event: bytes) -> None:
        handler.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
        handler.wfile.flush()


@contextlib.contextmanager
def running(protocol: Protocol) -> Iterator[ModelServer]:
    model = ModelServer(protocol)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked = Asked(path=self.path, headers=headers, body=body)
            model.asked.append(asked)
            self.close_connection = True
            model.respond(self, asked)

        def do_GET(self) -> None:
            rows = [{"id": name, "object": "model", "type": "model"} for name in ("embed-x", "first-model")]
            headers = {name.lower(): value for name, value in self.headers.items()}
            model.asked.append(Asked(path=self.path, headers=headers, body={}))
            model._send(self, 200, "application/json", json.dumps({"data": rows}).encode(), {})

        def end_headers(self) -> None:
            if self.close_connection:  # a client that is not told may send its next request on it
                self.send_header("connection", "close")
            super().end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        model.port = server.server_address[1]
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        try:
            yield model
        finally:
            server.shutdown()


# --- what the three protocols have in common ------------------------------------------------------


def sse(event: Event) -> bytes:
    name = f"event: {event['type']}\n" if "type" in event else ""
    return f"{name}data: {json.dumps(event)}\n\n".encode()


def need(condition: object, message: str) -> None:
    if not condition:
        raise Invalid(message)


class Protocol:
    """One dialect: how it writes an answer and which requests it accepts."""

    name = ""
    path = ""

    def __init__(self) -> None:
        self.given: dict[str, list[Event]] = {}  # the parts of an answer, by its first call or its text

    def events(self, script: Script, number: int) -> list[bytes]:
        raise NotImplementedError

    def whole(self, script: Script) -> Event:
        raise NotImplementedError

    def error_event(self, error: Event) -> bytes:
        raise NotImplementedError

    def check(self, asked: Asked) -> None:
        raise NotImplementedError

    def parts(self, script: Script) -> list[Event]:
        """The answer's parts as this protocol wants them back."""
        raise NotImplementedError

    def remember(self, script: Script) -> None:
        key = script.calls[0][0] if script.calls else "".join(script.text)
        self.given[key] = self.parts(script)

    def usage(self, script: Script) -> dict[str, int]:
        return {"fresh": 10, "cached": 0, "written": 0, "output": 5, "reasoning": 0} | (script.usage or {})


# --- Anthropic Messages ---------------------------------------------------------------------------


class Anthropic(Protocol):
    name = "anthropic"
    path = "/v1/messages"
    FIELDS = {
        *("model", "max_tokens", "messages", "stream", "system", "tools", "temperature"),
        *("thinking", "metadata", "output_config"),
    }
    BLOCKS = {
        "text": {"type", "text", "cache_control"},
        "image": {"type", "source", "cache_control"},
        "tool_use": {"type", "id", "name", "input", "cache_control"},
        "tool_result": {"type", "tool_use_id", "content", "cache_control"},
        "thinking": {"type", "thinking", "signature"},
        "redacted_thinking": {"type", "data"},
    }
    STOPS = {"stop": "end_turn", "length": "max_tokens", "refusal": "refusal"}

    def parts(self, script: Script) -> list[Event]:
        thinking = [{"type": "thinking", "thinking": "".join(script.thoughts), "signature": f"sig-{OPAQUE}"}]
        blocks: list[Event] = thinking if script.thoughts else []
        if script.redacted:
            blocks = [*blocks, {"type": "redacted_thinking", "data": f"red-{OPAQUE}"}]
        text = [{"type": "text", "text": "".join(script.text)}] if script.text else []
        blocks = [*text, *blocks] if script.text_first else [*blocks, *text]
        for call_id, name, pieces in script.calls:
            arguments = json.loads("".join(pieces) or "{}")
            blocks.append({"type": "tool_use", "id": call_id, "name": name, "input": arguments})
        return blocks

    def events(self, script: Script, number: int) -> list[bytes]:
        usage = self.usage(script)
        start = {
            "input_tokens": usage["fresh"],
            "cache_read_input_tokens": usage["cached"],
            "cache_creation_input_tokens": usage["written"],
            "output_tokens": 1,
        }
        message: Event = {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": start,
        }
        events: list[Event] = [{"type": "message_start", "message": message}, {"type": "ping"}]
        for index, block in enumerate(self.parts(script)):
            events += self.block_events(index, block, script)
        delta = {
            "stop_reason": "tool_use" if script.calls else self.STOPS[script.stop],
            "stop_sequence": None,
        }
        events.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": usage["output"]}})
        return [sse(event) for event in [*events, {"type": "message_stop"}]]

    def block_events(self, index: int, block: Event, script: Script) -> list[Event]:
        deltas: list[Event] = []
        start = dict(block)
        match block["type"]:
            case "text":
                start["text"] = ""
                deltas = [{"type": "text_delta", "text": piece} for piece in script.text]
            case "thinking":
                start |= {"thinking": "", "signature": ""}
                deltas = [{"type": "thinking_delta", "thinking": piece} for piece in script.thoughts]
                deltas.append({"type": "signature_delta", "signature": block["signature"]})
            case "tool_use":
                start["input"] = {}
                (pieces,) = [pieces for call_id, _, pieces in script.calls if call_id == block["id"]]
                deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *pieces)]
        return [
            {"type": "content_block_start", "index": index, "content_block": start},
            *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
            {"type": "content_block_stop", "index": index},
        ]

    def whole(self, script: Script) -> Event:
        usage = self.usage(script)
        tokens = {"input_tokens": usage["fresh"], "output_tokens": usage["output"]}
        stop = "tool_use" if script.calls else self.STOPS[script.stop]
        message = {"id": "msg_0", "type": "message", "role": "assistant", "model": "m", "stop_sequence": None}
        return message | {"content": self.parts(script), "stop_reason": stop, "usage": tokens}

    def error_event(self, error: Event) -> bytes:
        return sse({"type": "error", "error": {"type": "api_error", "message": "broken"} | error})

    def check(self, asked: Asked) -> None:
        body = asked.body
        need(asked.path == self.path, f"no such path {asked.path}")
        need(asked.headers.get("x-api-key") == KEY and "authorization" not in asked.headers, "bad headers")
        need(asked.headers.get("anthropic-version") == "2023-06-01", "anthropic-version: header is required")
        for name in body.keys() - self.FIELDS:
            raise Invalid(f"{name}: Extra inputs are not permitted")
        need(isinstance(body.get("max_tokens"), int) and body["max_tokens"] > 0, "max_tokens: Field required")
        need(json.dumps(body).count('"cache_control"') <= 4, "A maximum of 4 blocks with cache_control")
        need(body["messages"] and body["messages"][0]["role"] == "user", "first message must be of the user")
        for tool in body.get("tools", ()):
            need(
                tool.keys() <= {"name", "description", "input_schema", "cache_control"}, "tools: extra inputs"
            )
        open_calls: list[str] = []
        role = "assistant"
        for number, message in enumerate(body["messages"]):
            need(message["role"] in ("user", "assistant") and message["role"] != role, "roles must alternate")
            role = message["role"]
            open_calls = self.check_message(number, message, open_calls)
        need(role == "user", "This model does not support assistant message prefill")

    def check_message(self, number: int, message: Event, open_calls: list[str]) -> list[str]:
        content = message["content"]
        need(content, f"messages.{number}: must have non-empty content")
        for place, block in enumerate(content):
            known = self.BLOCKS.get(block["type"])
            need(known and block.keys() <= known, f"messages.{number}.content.{place}: Extra inputs")
            blank = block["type"] == "text" and not block["text"].strip()
            need(not blank, "text content blocks must be non-empty")
        if message["role"] == "assistant":
            return self.check_said(number, content)
        results = [block["tool_use_id"] for block in content if block["type"] == "tool_result"]
        first = [block["type"] for block in content[: len(results)]]
        need(set(first) <= {"tool_result"}, f"messages.{number}: tool_result blocks must come first")
        need(
            sorted(results) == sorted(open_calls),
            f"messages.{number}: `tool_use` ids were found without `tool_result` blocks: {open_calls}",
        )
        return []

    def check_said(self, number: int, content: list[Event]) -> list[str]:
        plain = [
            {name: value for name, value in block.items() if name != "cache_control"} for block in content
        ]
        calls = [block["id"] for block in plain if block["type"] == "tool_use"]
        need(all(re.fullmatch(r"[a-zA-Z0-9_-]+", call_id) for call_id in calls), "tool_use.id: bad pattern")
        text = "".join(block["text"] for block in plain if block["type"] == "text")
        given = self.given.get(calls[0] if calls else text)
        need(
            given is None or plain == given,
            f"messages.{number}.content.0: Invalid `signature` in `thinking` block: {plain} is not {given}",
        )
        return calls


# --- OpenAI Responses -----------------------------------------------------------------------------


class Responses(Protocol):
    name = "responses"
    path = "/v1/responses"
    FIELDS = {
        *(
            "model",
            "input",
            "instructions",
            "stream",
            "store",
            "include",
            "reasoning",
            "tools",
            "temperature",
        ),
        *("max_output_tokens", "safety_identifier", "text"),
    }
    SHELL: Event = {
        "id": "resp_0",
        "object": "response",
        "created_at": 1_741_290_958,
        "model": "m",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
    }

    def parts(self, script: Script) -> list[Event]:
        summary = [{"type": "summary_text", "text": thought} for thought in script.thoughts]
        reasoning = {
            "type": "reasoning",
            "id": "rs_1",
            "summary": summary,
            "encrypted_content": f"enc-{OPAQUE}",
        }
        items: list[Event] = [reasoning] if script.thoughts or script.redacted else []
        content = [{"type": "output_text", "text": "".join(script.text), "annotations": []}]
        message = {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed"}
        message["phase"] = "final_answer"
        text = [message | {"content": content}] if script.text else []
        items = [*text, *items] if script.text_first else [*items, *text]
        for call_id, name, pieces in script.calls:
            call = {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": name}
            items.append(call | {"arguments": "".join(pieces)})
        return items

    def events(self, script: Script, number: int) -> list[bytes]:
        shell = self.SHELL | {"id": f"resp_{number}", "status": "in_progress", "output": []}
        events: list[Event] = [
            {"type": "response.created", "response": shell},
            {"type": "response.in_progress", "response": shell},
        ]
        for index, item in enumerate(self.parts(script)):
            events += self.item_events(index, item, script)
        kind = "response.incomplete" if script.stop == "length" else "response.completed"
        events.append({"type": kind, "response": self.whole(script) | {"id": shell["id"]}})
        return [sse(event | {"sequence_number": place}) for place, event in enumerate(events)]

    def item_events(self, index: int, item: Event, script: Script) -> list[Event]:
        place = {"output_index": index, "item_id": item["id"]}
        deltas: list[Event] = []
        start = dict(item)
        match item["type"]:
            case "message":
                start["content"] = []
                part = {**place, "content_index": 0}
                kind = "refusal" if script.stop == "refusal" else "output_text"
                more: Event = {} if kind == "refusal" else {"logprobs": []}
                deltas = [
                    {"type": f"response.{kind}.delta", **part, "delta": piece, **more}
                    for piece in script.text
                ]
                opened = (
                    {"type": "refusal", "refusal": ""}
                    if kind == "refusal"
                    else {"type": "output_text", "text": "", "annotations": []}
                )
                deltas.insert(0, {"type": "response.content_part.added", **part, "part": opened})
            case "reasoning":
                start |= {"summary": [], "encrypted_content": None}
                for number, thought in enumerate(script.thoughts):
                    part = {**place, "summary_index": number}
                    opened = {"type": "summary_text", "text": ""}
                    deltas.append({"type": "response.reasoning_summary_part.added", **part, "part": opened})
                    deltas.append({"type": "response.reasoning_summary_text.delta", **part, "delta": thought})
            case "function_call":
                start["arguments"] = ""
                (pieces,) = [pieces for call_id, _, pieces in script.calls if call_id == item["call_id"]]
                kind = "response.function_call_arguments"
                deltas = [{"type": f"{kind}.delta", **place, "delta": piece} for piece in pieces]
                whole = {"name": item["name"], "arguments": item["arguments"]}
                deltas.append({"type": f"{kind}.done", **place, **whole})
        return [
            {
                "type": "response.output_item.added",
                "output_index": index,
                "item": start | {"status": "in_progress"},
            },
            *deltas,
            {"type": "response.output_item.done", "output_index": index, "item": self.done(item, script)},
        ]

    def done(self, item: Event, script: Script) -> Event:
        if item["type"] == "message" and script.stop == "refusal":
            refusal = {"type": "refusal", "refusal": "".join(script.text)}
            return item | {"status": "completed", "content": [refusal]}
        return item | ({} if item["type"] == "reasoning" else {"status": "completed"})

    def whole(self, script: Script) -> Event:
        usage = self.usage(script)
        tokens = {
            "input_tokens": usage["fresh"] + usage["cached"] + usage["written"],
            "input_tokens_details": {
                "cached_tokens": usage["cached"],
                "cache_write_tokens": usage["written"],
            },
            "output_tokens": usage["output"],
            "output_tokens_details": {"reasoning_tokens": usage["reasoning"]},
            "total_tokens": sum(usage.values()) - usage["reasoning"],
        }
        output = [self.done(item, script) for item in self.parts(script)]
        response = self.SHELL | {"status": "completed", "output": output, "usage": tokens}
        if script.stop == "length":
            return response | {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
        return response

    def error_event(self, error: Event) -> bytes:
        fields = {"code": "server_error", "message": "broken"} | error
        if fields.pop("failed", False):
            return sse({"type": "response.failed", "response": {"status": "failed", "error": fields}})
        return sse({"type": "error", **{name: value for name, value in fields.items() if name != "type"}})

    def check(self, asked: Asked) -> None:
        body = asked.body
        need(asked.path == self.path, f"no such path {asked.path}")
        need(asked.headers.get("authorization") == f"Bearer {KEY}", "bad key")
        for name in body.keys() - self.FIELDS:
            raise Invalid(f"Unknown parameter: '{name}'.")
        need(
            body["store"] is False and body["include"] == ["reasoning.encrypted_content"], "must be stateless"
        )
        for tool in body.get("tools", ()):
            need(tool["type"] == "function" and tool["strict"] is False and tool["name"], "tools: bad")
        calls = [item["call_id"] for item in body["input"] if item["type"] == "function_call"]
        results = [item["call_id"] for item in body["input"] if item["type"] == "function_call_output"]
        need(len(calls) == len(set(calls)) and all(len(call_id) <= 64 for call_id in calls), "bad call ids")
        need(
            set(calls) <= set(results), f"No tool output found for function call {set(calls) - set(results)}."
        )
        need(set(results) <= set(calls), "No tool call found for function call output")
        for item in body["input"]:
            self.check_item(item)
        for given in self.given.values():
            self.check_given(body["input"], given)

    def check_item(self, item: Event) -> None:
        match item["type"]:
            case "message" if item["role"] == "assistant" and "id" not in item:
                need(isinstance(item["content"], str), "text expected")
            case "message" if item["role"] == "assistant":
                need({part["type"] for part in item["content"]} == {"output_text"}, "output_text expected")
            case "message":
                need(item["role"] in ("user", "system", "developer"), f"no role {item['role']}")
                kinds = {part["type"] for part in item["content"]}
                need(kinds and kinds <= {"input_text", "input_image"}, f"Invalid value: {kinds}")
            case "function_call":
                json.loads(item["arguments"])
            case "function_call_output":
                need(isinstance(item["output"], str), "output must be text")
            case "reasoning":
                need(item.get("encrypted_content"), "Item 'rs_1' not found: items are not persisted")
            case kind:
                raise Invalid(f"no such item {kind}")

    def check_given(self, items: list[Event], given: list[Event]) -> None:
        """An answer that is sent back comes whole, its items in their order."""
        has = [place for place, item in enumerate(items) if self.is_same(item, given[-1])]
        if not has:
            return
        begin = has[0] - len(given) + 1
        need(
            begin >= 0 and items[begin : has[0] + 1] == given,
            f"Item 'fc_1' was provided without its required 'reasoning' item: {items} instead of {given}",
        )

    def is_same(self, item: Event, given: Event) -> bool:
        if given["type"] == "function_call":
            return bool(item.get("call_id") == given["call_id"] and item["type"] == "function_call")
        return item.get("role") == "assistant" and item.get("content") == given.get("content")


# --- OpenAI chat completions ----------------------------------------------------------------------


class Chat(Protocol):
    name = "chat"
    path = "/v1/chat/completions"
    STOPS = {"stop": "stop", "length": "length", "refusal": "stop"}

    def parts(self, script: Script) -> list[Event]:
        thought = "".join(script.thoughts)
        return [{"reasoning_content": thought, "encrypted_content": OPAQUE}] if script.thoughts else []

    def events(self, script: Script, number: int) -> list[bytes]:
        kind = "refusal" if script.stop == "refusal" else "content"
        deltas: list[Event] = [{"role": "assistant", "content": ""}]
        deltas += [{"reasoning_content": thought} for thought in script.thoughts]
        deltas += [{"encrypted_content": OPAQUE}] if script.thoughts else []
        deltas += [{kind: piece} for piece in script.text]
        for index, (call_id, name, pieces) in enumerate(script.calls):
            head = {"id": call_id, "type": "function", "function": {"name": name, "arguments": ""}}
            deltas.append({"tool_calls": [{"index": index, **head}]})
            for piece in pieces:
                deltas.append({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        shell: Event = {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion.chunk",
            "created": 1_741_290_958,
            "model": "m",
        }
        choices: list[Event] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
        choices.append({"index": 0, "delta": {}, "finish_reason": self.finish(script)})
        chunks: list[Event] = [{"choices": [choice]} for choice in choices]
        chunks.append({"choices": [], "usage": self.tokens(script)})
        return [*(sse(shell | chunk) for chunk in chunks), b"data: [DONE]\n\n"]

    def finish(self, script: Script) -> str:
        return "tool_calls" if script.calls else self.STOPS[script.stop]

    def tokens(self, script: Script) -> Event:
        usage = self.usage(script)
        return {
            "prompt_tokens": usage["fresh"] + usage["cached"] + usage["written"],
            "prompt_tokens_details": {
                "cached_tokens": usage["cached"],
                "cache_write_tokens": usage["written"],
            },
            "completion_tokens": usage["output"],
            "total_tokens": sum(usage.values()) - usage["reasoning"],
            "completion_tokens_details": {"reasoning_tokens": usage["reasoning"]},
        }

    def whole(self, script: Script) -> Event:
        calls = [
            {"id": call_id, "type": "function", "function": {"name": name, "arguments": "".join(pieces)}}
            for call_id, name, pieces in script.calls
        ]
        message = {"content": "".join(script.text), "reasoning_content": "".join(script.thoughts)}
        choice = {"message": message | {"tool_calls": calls}, "finish_reason": self.finish(script)}
        return {"choices": [choice], "usage": self.tokens(script)}

    def error_event(self, error: Event) -> bytes:
        return sse({"error": {"message": "broken", "code": 500} | error})

    def check(self, asked: Asked) -> None:
        need(asked.path == self.path, f"no such path {asked.path}")
        need(asked.headers.get("authorization") == f"Bearer {KEY}", "bad key")
        open_calls: list[str] = []
        for message in asked.body["messages"]:
            if message["role"] == "tool":
                need(message["tool_call_id"] in open_calls, "tool message without its call")
                open_calls.remove(message["tool_call_id"])
                continue
            need(not open_calls, f"tool_call_ids did not have response messages: {open_calls}")
            open_calls = [call["id"] for call in message.get("tool_calls") or ()]
            if message["role"] == "assistant":
                self.check_said(message)
        need(not open_calls, f"tool_call_ids did not have response messages: {open_calls}")

    def check_said(self, message: Event) -> None:
        calls = message.get("tool_calls") or ()
        given = self.given.get(calls[0]["id"] if calls else message["content"])
        sent = {name: message[name] for name in ("reasoning_content", "encrypted_content") if name in message}
        need(not given or sent == given[0], f"The reasoning must be passed back: {sent} is not {given}")


PROTOCOLS: dict[str, type[Protocol]] = {kind.name: kind for kind in (Chat, Anthropic, Responses)}
