"""The HTTP server of the offline model: chat completions, models, health, and control endpoints."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import json
import socket
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from aiohttp import web

from llm.offline.conversation import OfflineConversation
from llm.offline.reply import MODEL, Fault, Reply
from llm.offline.rules import answer, is_side_job
from llm.offline.script import BadScript, Script, find_script
from llm.offline.wire import DONE, Wire

MAX_BODY_BYTES = 64 * 1024 * 1024
MAX_LOG_ENTRIES = 5_000
SHUTDOWN_SECONDS = 1.0
BEFORE_CUT_SECONDS = 0.05  # a client may discard what it received just before the connection broke
UNREADABLE = (ValueError, TypeError, AttributeError, KeyError)
PAGE = "<!doctype html><html><body><h1>502 Bad Gateway</h1></body></html>"


@dataclass(kw_only=True)
class RequestRecord:
    """One entry of the request log; times are monotonic."""

    conversation: str
    round: int
    model: str
    n_messages: int
    has_images: bool
    body: Mapping[str, Any]
    peer: str = ""  # the client's address and port, constant per connection
    opened_at: float = field(default_factory=time.monotonic)
    closed_at: float | None = None
    closed_early: bool = False
    pieces_sent: int = 0


class OfflineModel:
    """The state of the server: gates, fault counters, scripts and the request log."""

    def __init__(self, *, control: bool = False) -> None:
        self.control = control
        self.requests: deque[RequestRecord] = deque(maxlen=MAX_LOG_ENTRIES)
        self._faults: dict[tuple[str, int], int] = {}
        self._gates: dict[str, asyncio.Event] = {}
        self._scripts: list[tuple[str, Script]] = []

    def app(self) -> web.Application:
        app = web.Application(client_max_size=MAX_BODY_BYTES)
        app.router.add_post("/v1/chat/completions", self.chat_completions)
        app.router.add_get("/v1/models", self.models)
        app.router.add_get("/healthz", self.healthz)
        if self.control:
            app.router.add_get("/control/requests", _loopback_only(self.control_requests))
            app.router.add_post("/control/release", _loopback_only(self.control_release))
            app.router.add_post("/control/reset", _loopback_only(self.control_reset))
        return app

    def play(self, script: Script, *, contains: str) -> None:
        """Answer turns whose message contains these words with this script; the most recent script wins."""
        self._scripts.append((contains, script))

    def release(self, gate: str) -> None:
        self._gate(gate).set()

    def reset(self) -> None:
        """Clear the log, counters, gates and scripts; waiting answers continue."""
        for gate in self._gates.values():
            gate.set()
        self._gates.clear()
        self._faults.clear()
        self._scripts.clear()
        self.requests.clear()

    async def healthz(self, request: web.Request) -> web.Response:
        return web.json_response({"status": "ok", "model": MODEL})

    async def models(self, request: web.Request) -> web.Response:
        row = {"id": MODEL, "object": "model", "created": 0, "owned_by": "ratchet"}
        return web.json_response({"object": "list", "data": [row]})

    async def chat_completions(self, request: web.Request) -> web.StreamResponse:
        try:
            body = json.loads(await request.read())
            conversation = OfflineConversation(body)
            if not isinstance(body, dict) or not conversation.messages:
                raise BadScript("`messages` is missing or empty")
            script_id, reply = self._choose(conversation)
        except UNREADABLE as error:
            return _error(400, f"The request cannot be read: {error}", "invalid_request_error")
        record = self._log(conversation, script_id, request)
        fault = self._due_fault(script_id, conversation, reply)
        try:
            return await self._answer(request, conversation, reply, fault, record)
        except (asyncio.CancelledError, ConnectionError):
            record.closed_early = True
            raise
        finally:
            record.closed_at = time.monotonic()

    def _choose(self, conversation: OfflineConversation) -> tuple[str, Reply]:
        """Return the script's reply if the turn has one, else the rules' reply, with the id for the log."""
        if not is_side_job(conversation):
            text = conversation.last_user_text
            for contains, script in reversed(self._scripts):
                if contains in text:
                    return script.id, script.reply(conversation.round)
            found = find_script(text)
            if found:
                return found.id, found.reply(conversation.round)
        return conversation.key, answer(conversation)

    def _log(self, conversation: OfflineConversation, key: str, request: web.Request) -> RequestRecord:
        peer = request.transport.get_extra_info("peername") if request.transport else None
        record = RequestRecord(
            conversation=key,
            round=conversation.round,
            model=conversation.model,
            n_messages=len(conversation.messages),
            has_images=conversation.has_images,
            body=conversation.body,
            peer=":".join(str(part) for part in (peer or ())[:2]),
        )
        if self.control:  # otherwise the log cannot be read, so do not keep what people write
            self.requests.append(record)
        return record

    def _due_fault(self, script_id: str, conversation: OfflineConversation, reply: Reply) -> Fault | None:
        fault = reply.fault
        if fault is None or (fault.model and fault.model != conversation.model):
            return None
        key = (script_id, conversation.round)
        happened = self._faults.get(key, 0)
        if fault.times is not None and happened >= fault.times:
            return None
        self._faults[key] = happened + 1
        return fault

    async def _answer(
        self,
        request: web.Request,
        conversation: OfflineConversation,
        reply: Reply,
        fault: Fault | None,
        record: RequestRecord,
    ) -> web.StreamResponse:
        if reply.first_delay:
            await asyncio.sleep(reply.first_delay)
        refusal = _refuse(request, fault)
        if refusal is not None:
            return refusal
        wire = Wire(conversation, replace(reply, fault=fault))
        paced = self._paced(wire, reply, fault, record)
        if conversation.body.get("stream"):
            return await _stream(request, wire, reply, fault, paced, conversation)
        async for _ in paced:
            pass
        if fault and fault.cut_after_chunks is not None:
            return _break(request, web.Response())
        return web.json_response(wire.whole())

    async def _paced(
        self, wire: Wire, reply: Reply, fault: Fault | None, record: RequestRecord
    ) -> AsyncIterator[bytes]:
        """Yield the pieces on time; stop at a cut, wait at a gate, and stay silent at a hang."""
        due = time.monotonic()
        for number, piece in enumerate(wire.pieces()):
            if reply.gate and number == reply.gate_at:
                await self._gate(reply.gate).wait()
                due = time.monotonic()
            if fault and fault.hang_after_chunks == number:
                await asyncio.Event().wait()
            if fault and fault.cut_after_chunks == number:
                return
            if reply.delay and number:
                due += reply.delay
                await asyncio.sleep(due - time.monotonic())
            record.pieces_sent += 1
            yield piece
        if reply.gate and reply.gate_at >= record.pieces_sent:
            await self._gate(reply.gate).wait()
        if fault and fault.hang_after_chunks is not None and fault.hang_after_chunks >= record.pieces_sent:
            await asyncio.Event().wait()

    def _gate(self, name: str) -> asyncio.Event:
        return self._gates.setdefault(name, asyncio.Event())

    async def control_requests(self, request: web.Request) -> web.Response:
        return web.json_response({"requests": [asdict(record) for record in self.requests]})

    async def control_release(self, request: web.Request) -> web.Response:
        data = await request.json()
        self.release(str(data["gate"]))
        return web.json_response({"released": data["gate"]})

    async def control_reset(self, request: web.Request) -> web.Response:
        self.reset()
        return web.json_response({"reset": True})


async def start(
    model: OfflineModel, host: str, port: int, *, held: socket.socket | None = None
) -> web.AppRunner:
    """Start listening, on a socket that is bound already if there is one.

    A client that disconnects cancels its answer at once.
    """
    runner = web.AppRunner(
        model.app(), handler_cancellation=True, access_log=None, shutdown_timeout=SHUTDOWN_SECONDS
    )
    await runner.setup()
    site = web.SockSite(runner, held) if held is not None else web.TCPSite(runner, host, port, backlog=1024)
    await site.start()
    return runner


def _refuse(request: web.Request, fault: Fault | None) -> web.StreamResponse | None:
    """Return the response to a fault that prevents streaming, or None."""
    if fault is None:
        return None
    if fault.drop:
        return _break(request, web.Response())
    if fault.status is not None:
        return _status(fault)
    if fault.nonsense == "html":
        return web.Response(text=PAGE, content_type="text/html")
    if fault.nonsense == "error_body":
        return web.json_response(
            {"error": {"message": "The offline model was told to fail.", "type": "server_error"}}
        )
    return None


async def _stream(
    request: web.Request,
    wire: Wire,
    reply: Reply,
    fault: Fault | None,
    pieces: AsyncIterator[bytes],
    conversation: OfflineConversation,
) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
    await response.prepare(request)
    nonsense = fault.nonsense if fault else ""
    if nonsense == "no_sse":
        await response.write(b"hello, this is not\nan event stream\n")
        return response
    await response.write(wire.delta({"role": "assistant", "content": ""}))
    async for piece in pieces:
        await response.write(piece)
        if nonsense == "bad_sse":
            await response.write(b"data: {this is no json\n\n")
        elif nonsense == "error_event":
            await response.write(wire.error_event())
            return response
        elif nonsense == "half_event":
            await response.write(piece[: len(piece) // 2])
            return response
    if fault and fault.cut_after_chunks is not None:
        await asyncio.sleep(BEFORE_CUT_SECONDS)
        return _break(request, response)
    await response.write(_ending(wire, reply, nonsense, conversation))
    await response.write_eof()
    return response


def _ending(wire: Wire, reply: Reply, nonsense: str, conversation: OfflineConversation) -> bytes:
    if nonsense == "no_finish":
        return DONE
    if nonsense == "no_done":
        return wire.finish()
    wants_usage = (conversation.body.get("stream_options") or {}).get("include_usage")
    usage = wire.usage_event() if wants_usage and reply.usage != {} else b""
    return wire.finish() + usage + DONE


def _break(request: web.Request, response: web.StreamResponse) -> web.StreamResponse:
    """Close the connection: what was written is sent, the end of the body is not."""
    if request.transport is not None:
        request.transport.close()
    return response


def _status(fault: Fault) -> web.Response:
    assert fault.status is not None
    headers = {}
    if fault.retry_after is not None:
        headers["Retry-After"] = f"{fault.retry_after:g}"
    if fault.retry_after_ms is not None:
        headers["retry-after-ms"] = f"{fault.retry_after_ms:g}"
    kind = (
        "rate_limit_error" if fault.status == 429 else "server_error" if fault.status >= 500 else "api_error"
    )
    return _error(
        fault.status, "The offline model was told to refuse.", kind, headers=headers, fields=fault.error
    )


def _error(
    status: int,
    message: str,
    kind: str,
    *,
    headers: Mapping[str, str] | None = None,
    fields: Mapping[str, Any] | None = None,
) -> web.Response:
    error = {"message": message, "type": kind, "code": None, "param": None} | dict(fields or {})
    return web.json_response({"error": error}, status=status, headers=headers)


def _loopback_only(handler: Callable[[web.Request], Any]) -> Callable[[web.Request], Any]:
    async def guarded(request: web.Request) -> web.StreamResponse:
        with contextlib.suppress(ValueError):
            if request.remote and ipaddress.ip_address(request.remote).is_loopback:
                return await handler(request)  # type: ignore[no-any-return]
        raise web.HTTPNotFound

    return guarded
