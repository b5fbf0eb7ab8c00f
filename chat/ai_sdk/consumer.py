"""/ws/chat/: the frame protocol of the AI SDK's WebSocketChatTransport, many requests on one socket."""

from __future__ import annotations

import asyncio
import logging
import re
import uuid
from contextlib import aclosing
from typing import Any, NamedTuple

from chat import limits, sessions, turns
from chat.ai_sdk import requests
from chat.ai_sdk.errors import UNKNOWN, RequestRefused, in_words
from chat.delivery import reader
from chat.delivery.consumer import CloseCode, SocketClosed, SocketConsumer
from chat.models import Turn
from chat.sessions import UUID_FORM
from chat.threads import in_parser_thread, in_thread
from durable import storable, tracing
from durable.event_log import encode
from executions.limits import MAX_JSON_DEPTH

logger = logging.getLogger(__name__)

Frame = dict[str, Any]
MAX_REQUEST_ID_CHARACTERS = 200
NOT_FOUND = "There is nothing here, or it is not yours."


class SocketRequest:
    """A `send` or `resume` that is being answered."""

    def __init__(self, request_id: str, kind: str) -> None:
        self.id = request_id
        self.kind = kind
        self.turn_id: uuid.UUID | None = None
        self.aborted = False


class FoundTurn(NamedTuple):
    """The turn that answers a request; `is_new` if the request has just made it."""

    turn_id: uuid.UUID
    is_new: bool


class ChatConsumer(SocketConsumer):
    """Stream each request in a task of its own. A lost connection ends the tasks, never a turn."""

    channel_layer_alias = ""  # no layer: a turn's events come through the hub, and nothing else is sent here

    async def connect(self) -> None:
        self.requests: dict[str, SocketRequest] = {}
        await super().connect()

    async def receive_text(self, text: str) -> None:
        is_short = len(text) <= limits.MAX_LOOP_FRAME_CHARACTERS
        frame = parse(text) if is_short else await in_parser_thread(parse, text)
        await self.check_login()
        match frame["type"]:
            case "send" | "resume":
                self._begin(frame)
            case "abort":
                self._abort(frame["requestId"])
            case _:
                raise SocketClosed(CloseCode.BAD_FRAME)

    def _begin(self, frame: Frame) -> None:
        request_id = frame["requestId"]
        if request_id in self.requests or not isinstance(frame.get("id"), str):
            raise SocketClosed(CloseCode.BAD_FRAME)
        if len(self.requests) >= limits.MAX_REQUESTS_PER_SOCKET:
            raise SocketClosed(CloseCode.TOO_MANY)
        request = self.requests[request_id] = SocketRequest(request_id, frame["type"])
        self.start(self._answer(request, frame))

    def _abort(self, request_id: str) -> None:
        """Cancel the request's turn: the person pressed stop."""
        request = self.requests.get(request_id)
        if request is None:
            return
        request.aborted = True
        if request.turn_id is not None:
            self.start(self._cancel(request, request.turn_id))

    async def _cancel(self, request: SocketRequest, turn_id: uuid.UUID) -> None:
        """Cancel the turn, unless the client only replaces one `resume` by another: it aborts the first one then."""
        if request.kind == "resume":
            await asyncio.sleep(limits.RESUME_EXCHANGE_SECONDS)
            if any(other.turn_id == turn_id and not other.aborted for other in self.requests.values()):
                return
        try:
            await in_thread(in_words, lambda: turns.cancel(Turn.objects.get(pk=turn_id)))
        except RequestRefused as error:
            logger.warning("A turn was not cancelled: %s", error)

    async def _answer(self, request: SocketRequest, frame: Frame) -> None:
        work = self._submit if frame["type"] == "send" else self._find
        try:
            found = await in_thread(in_words, lambda: work(check_storable(frame)))
            if found is None:
                return await self._send_frame("no-active", request)
            request.turn_id = found.turn_id
            if request.aborted:
                self.start(self._cancel(request, found.turn_id))
            await self._stream(request, found)
        except RequestRefused as error:
            await self._send_frame("error", request, errorText=str(error))
        except Exception:  # one failed request must not end the others of this socket
            logger.exception("A request on a socket failed")
            await self._send_frame("error", request, errorText=UNKNOWN)
        finally:
            self.requests.pop(request.id, None)
        return None

    async def _send_frame(self, kind: str, request: SocketRequest, **fields: str) -> None:
        await self.send(text_data=encode({"type": kind, "requestId": request.id, **fields}))

    async def _stream(self, request: SocketRequest, found: FoundTurn) -> None:
        """Send the turn's chunks. They are encoded already, so their frames are put together as text."""
        await self._send_frame("start", request)
        head = f'{{"type":"chunk","requestId":{encode(request.id)},"sequence":'
        sequence, send = 0, self.base_send
        async with aclosing(reader.read_compact(found.turn_id, is_new=found.is_new)) as batches:
            async for batch in batches:
                for entry in batch:
                    text = f'{head}{sequence},"chunk":{entry.body}}}'
                    await send({"type": "websocket.send", "text": text})
                    sequence += 1
        await self._send_frame("end", request)

    def _submit(self, frame: Frame) -> FoundTurn:
        with tracing.request("websocket send", {"network.protocol.name": "websocket"}, ""):
            submitted = requests.submit(self.client.owner, request_body(frame))
            return FoundTurn(submitted.turn.pk, is_new=submitted.created)

    def _find(self, frame: Frame) -> FoundTurn | None:
        """Return the turn to resume, or None for an idle or new chat; raise RequestRefused if it is another's."""
        session = self.client.owner.sessions().filter(**sessions.by_key(frame["id"])).first()
        if session is None and UUID_FORM.fullmatch(frame["id"]):
            raise RequestRefused(NOT_FOUND)
        turn = turns.current_turn(session) if session is not None else None
        return FoundTurn(turn.pk, is_new=False) if turn is not None else None


def check_storable(frame: Frame) -> Frame:
    """Return the frame unchanged; raise RequestRefused where POST would refuse the same body."""
    try:
        storable.check(frame, max_depth=MAX_JSON_DEPTH)
    except storable.NotStorable as error:
        raise RequestRefused(f"The message cannot be stored: {error}.") from None
    return frame


def request_body(frame: Frame) -> dict[str, Any]:
    """Return a `send` frame as the body the same client would post; fields an app adds come in `body`."""
    body = frame.get("body")
    named = {name: frame[name] for name in ("id", "messages", "trigger", "messageId") if name in frame}
    return (body if isinstance(body, dict) else {}) | named


STRINGS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


def count_tokens(text: str) -> int:
    """Count brackets, commas and colons; if there are many, only those outside of strings.

    Parsing holds the interpreter in proportion to the tokens, not to the length: 512 kB of `[],` took ten times
    as long as 512 kB of text.
    """
    count = sum(map(text.count, "[{,:"))
    return count if count <= limits.MAX_FRAME_TOKENS else sum(map(STRINGS.sub("", text).count, "[{,:"))


def parse(text: str) -> Frame:
    """Return the client's frame; raise SocketClosed if it is not one."""
    if count_tokens(text) > limits.MAX_FRAME_TOKENS:
        raise SocketClosed(CloseCode.BAD_FRAME)
    try:
        frame = storable.loads(text)
    except ValueError:
        raise SocketClosed(CloseCode.BAD_FRAME) from None
    if not isinstance(frame, dict) or not isinstance(frame.get("type"), str):
        raise SocketClosed(CloseCode.BAD_FRAME)
    request_id = frame.get("requestId")
    if not isinstance(request_id, str) or not 0 < len(request_id) <= MAX_REQUEST_ID_CHARACTERS:
        raise SocketClosed(CloseCode.BAD_FRAME)
    if not storable.is_text(request_id):
        raise SocketClosed(CloseCode.BAD_FRAME)
    return frame
