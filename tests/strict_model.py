"""A model server that answers 400 unless what it gave with its answers comes back exactly, and to the right model."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

CANARY = "CANARYf00dfeed"  # in every value that nobody but the model may see
HOSTILE = "\x00\ud800é日本"  # what no text column of PostgreSQL takes
PROSE = ("reasoning_content", "reasoning")
KNOWN = {"role", "content", "tool_calls", "id", "type", "function"}
DELTA = dict[str, Any]


@dataclass
class Given:
    """What came with one answer: the deltas that brought it, and what must come back."""

    deltas: list[DELTA] = field(default_factory=list)
    message: dict[str, Any] = field(default_factory=dict)
    calls: dict[str, dict[str, Any]] = field(default_factory=dict)
    model: str = ""


def opaque(*place: object) -> str:
    return f"{CANARY}-{'-'.join(map(str, place))}-{HOSTILE}"


def like_gemini(number: int, ids: list[str]) -> Given:
    """A signature at the first of parallel calls; at the message where there is no call."""
    extra = {"extra_content": {"google": {"thought_signature": opaque("gemini", number)}}}
    if ids:
        return Given(calls={ids[0]: extra})
    return Given(deltas=[extra], message=extra)


def like_deepseek(number: int, ids: list[str]) -> Given:
    """Reasoning in pieces, one of them half a character; empty at every second answer, and wanted back all the same."""
    pieces = ["Let me ", "think\x00 \ud83d", "\ude00 of it."] if number % 2 else [""]
    text = "".join(pieces).encode("utf-16", "surrogatepass").decode("utf-16")
    return Given(
        deltas=[{"content": None, "reasoning_content": piece} for piece in pieces],
        message={"reasoning_content": text},
    )


def like_openrouter(number: int, ids: list[str]) -> Given:
    """Details in pieces: text, its signature, and an encrypted entry per call."""
    head = {"type": "reasoning.text", "index": 0, "format": "anthropic-claude-v1"}
    sealed = [
        {"type": "reasoning.encrypted", "index": 0, "id": call_id, "data": opaque("sealed", number, call_id)}
        for call_id in ids
    ]
    signature = opaque("signature", number)
    details = [
        [{**head, "text": "First "}],
        [{**head, "text": "second."}],
        [{**head, "signature": signature}],
        *([entry] for entry in sealed),
    ]
    whole = {**head, "text": "First second.", "signature": signature}
    return Given(
        deltas=[
            {"reasoning": "First "},
            {"reasoning": "second."},
            *({"reasoning_details": d} for d in details),
        ],
        message={"reasoning": "First second.", "reasoning_details": [whole, *sealed]},
    )


def like_anthropic(number: int, ids: list[str]) -> Given:
    """Thinking blocks as LiteLLM sends them: two signed ones and one that is encrypted."""
    signatures = [opaque("thinking", number, place) for place in (0, 1)]
    redacted = {"type": "redacted_thinking", "data": opaque("redacted", number)}
    block = {"type": "thinking", "signature": ""}
    blocks = [
        {**block, "thinking": "I "},
        {**block, "thinking": "see."},
        {**block, "thinking": "", "signature": signatures[0]},
        redacted,
        {**block, "thinking": "And."},
        {**block, "thinking": "", "signature": signatures[1]},
    ]
    return Given(
        deltas=[{"thinking_blocks": [block]} for block in blocks],
        message={
            "thinking_blocks": [
                {"type": "thinking", "signature": signatures[0], "thinking": "I see."},
                redacted,
                {"type": "thinking", "signature": signatures[1], "thinking": "And."},
            ]
        },
    )


def like_openai(number: int, ids: list[str]) -> Given:
    """Encrypted reasoning items, and encrypted content at each call."""
    item = {"type": "reasoning", "id": f"rs_{number}", "summary": []}
    items = [{**item, "encrypted_content": opaque("item", number)}]
    calls = {call_id: {"encrypted_content": opaque("call", number, call_id)} for call_id in ids}
    return Given(deltas=[{"reasoning_items": items}], message={"reasoning_items": items}, calls=calls)


def like_all_of_them(number: int, ids: list[str]) -> Given:
    """What each of them gives, at once."""
    whole = Given()
    for kind in (like_gemini, like_deepseek, like_openrouter, like_anthropic, like_openai):
        given = kind(number, ids)
        whole.deltas += given.deltas
        whole.message |= given.message
        for call_id, fields in given.calls.items():
            whole.calls[call_id] = whole.calls.get(call_id, {}) | fields
    return whole


def without_carry(number: int, ids: list[str]) -> Given:
    return Given()


KINDS: dict[str, Callable[[int, list[str]], Given]] = {
    "gemini": like_gemini,
    "deepseek": like_deepseek,
    "openrouter": like_openrouter,
    "anthropic": like_anthropic,
    "openai": like_openai,
    "all": like_all_of_them,
    "other": without_carry,
}


class StrictModel:
    """`with StrictModel() as model:`; the kind is the name of the model. A turn has two parallel calls, one more call,
    then text; with the word "briefly" in the message it is text alone. Requests without tools get a short text."""

    def __init__(self, *, arguments: dict[str, Any] | None = None) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.refusals: list[str] = []
        self.given: dict[str, Given] = {}
        self.hold: Callable[[dict[str, Any]], None] = lambda body: None
        self.is_down: Callable[[dict[str, Any]], bool] = lambda body: False
        self._arguments = {"value": "x"} if arguments is None else arguments
        self._answers = 0
        self._name = uuid.uuid4().hex[:8]
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler_of(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answered(self, body: dict[str, Any]) -> list[DELTA]:
        """The deltas of the next answer; raises ValueError when something did not come back."""
        with self._lock:
            self.bodies.append(body)
            try:
                self.check(body)
            except ValueError as error:
                self.refusals.append(str(error))
                raise
            if not body.get("tools"):
                return [{"content": "A short text."}]
            self._answers += 1
            return self.next_answer(body, self._answers)

    def next_answer(self, body: dict[str, Any], number: int) -> list[DELTA]:
        newest = max(place for place, message in enumerate(body["messages"]) if message["role"] == "user")
        since = body["messages"][newest + 1 :]
        rounds = sum(message["role"] == "assistant" for message in since)
        briefly = "briefly" in str(body["messages"][newest]["content"])
        count = 0 if briefly or rounds > 1 else 2 - rounds
        ids = [f"call_{self._name}_{number}_{place}" for place in range(count)]
        given = KINDS[body["model"]](number, ids)
        given.model = body["model"]
        text = "" if ids else f"Answer {self._name} {number}."
        self.given[ids[0] if ids else text] = given
        return [*given.deltas, *([{"content": text}] if text else []), *self.calls(body, ids, given)]

    def calls(self, body: dict[str, Any], ids: list[str], given: Given) -> Iterator[DELTA]:
        names = [tool["function"]["name"] for tool in body["tools"]]
        name = "test_pure" if "test_pure" in names else names[0]
        for index, call_id in enumerate(ids):
            head = {"id": call_id, "type": "function", "function": {"name": name, "arguments": ""}}
            yield {"tool_calls": [{"index": index, **head, **given.calls.get(call_id, {})}]}
            arguments = {"arguments": json.dumps(self._arguments)}
            yield {"tool_calls": [{"index": index, "function": arguments}]}

    # --- what must come back ----------------------------------------------------------------------

    def check(self, body: dict[str, Any]) -> None:
        exchange: list[dict[str, Any]] = []
        for message in [*body["messages"], {"role": "user"}]:
            if message["role"] == "user":
                calls_tools = any(said.get("tool_calls") for said in exchange)
                for said in exchange:
                    self.check_message(said, body["model"], with_prose=calls_tools)
                exchange = []
            elif message["role"] == "assistant":
                exchange.append(message)

    def check_message(self, said: dict[str, Any], model: str, *, with_prose: bool) -> None:
        calls = said.get("tool_calls") or []
        name = calls[0]["id"] if calls else said["content"]
        given = self.given.get(name, Given())
        mine = given.model == model
        wanted = {
            key: value for key, value in given.message.items() if mine and (with_prose or key not in PROSE)
        }
        if extras(said) != wanted:
            raise ValueError(f"The message of {name}: {extras(said)!r} came back instead of {wanted!r}")
        for call in calls:
            sealed = given.calls.get(call["id"], {}) if mine else {}
            if extras(call) != sealed:
                raise ValueError(f"The call {call['id']}: {extras(call)!r} came back instead of {sealed!r}")


def extras(value: dict[str, Any]) -> dict[str, Any]:
    return {name: inner for name, inner in value.items() if name not in KNOWN}


def handler_of(model: StrictModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            model.hold(body)
            if model.is_down(body):
                self.send(503, "application/json", ["{}"])
                return
            try:
                deltas = model.answered(body)
            except ValueError as error:  # a server that quotes what it refuses, as many do
                self.send(400, "application/json", [json.dumps({"error": {"message": f"{HOSTILE} {error}"}})])
                return
            calls = any("tool_calls" in delta for delta in deltas)
            chunks = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
            end = {"index": 0, "delta": {}, "finish_reason": "tool_calls" if calls else "stop"}
            events = [json.dumps(chunk) for chunk in [*chunks, {"choices": [end]}]]
            self.send(200, "text/event-stream", [f"data: {event}\n\n" for event in [*events, "[DONE]"]])

        def send(self, status: int, kind: str, pieces: list[str]) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.end_headers()
            for piece in pieces:
                self.wfile.write(piece.encode())

        def log_message(self, format: str, *args: Any) -> None:
            """Nobody reads it."""

    return Handler
