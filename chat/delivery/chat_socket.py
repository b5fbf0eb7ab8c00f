"""/ws/chat/: the frames of the AI SDK's own WebSocketChatTransport, many requests on one socket."""

from __future__ import annotations

import asyncio
import logging
import re
import uuid
from contextlib import aclosing
from typing import Any

from chat import sessions, turns
from chat.api import asks
from chat.api.streams import current_turn
from chat.api.words import UNKNOWN, Refused, in_words
from chat.delivery import reader
from chat.delivery.socket import CloseCode, Closing, Socket
from chat.delivery.threads import in_parser_thread, in_thread
from chat.models import Turn
from chat.sessions import UUID_FORM
from durable import limits, storable, tracing
from durable.events import encode

logger = logging.getLogger(__name__)

Frame = dict[str, Any]
MAX_NAME_CHARACTERS = 200
NOT_FOUND = "There is nothing here, or it is not yours."


class Request:
    """One `send` or `resume` that is being answered."""

    def __init__(self, name: str, kind: str) -> None:
        self.name = name
        self.kind = kind
        self.turn_id: uuid.UUID | None = None
        self.aborted = False


class ChatSocket(Socket):
    """Each request is pumped by a task of its own. A lost connection ends the pumps, never a turn."""

    async def opening(self) -> None:
        self.requests: dict[str, Request] = {}

    async def heard(self, text: str) -> None:
        is_short = len(text) <= limits.MAX_LOOP_FRAME_CHARACTERS
        frame = parse(text) if is_short else await in_parser_thread(parse, text)
        await self.check_login()
        match frame["type"]:
            case "send" | "resume":
                self._begin(frame)
            case "abort":
                self._abort(frame["requestId"])
            case _:
                raise Closing(CloseCode.BAD_FRAME)

    def _begin(self, frame: Frame) -> None:
        name = frame["requestId"]
        if name in self.requests or not isinstance(frame.get("id"), str):
            raise Closing(CloseCode.BAD_FRAME)
        if len(self.requests) >= limits.MAX_REQUESTS_PER_SOCKET:
            raise Closing(CloseCode.TOO_MANY)
        request = self.requests[name] = Request(name, frame["type"])
        self.start(self._answer(request, frame))

    def _abort(self, name: str) -> None:
        """The person pressed stop: unlike a lost connection, this cancels the turn."""
        request = self.requests.get(name)
        if request is None:
            return
        request.aborted = True
        if request.turn_id is not None:
            self.start(self._stop(request, request.turn_id))

    async def _stop(self, request: Request, turn_id: uuid.UUID) -> None:
        """Cancel the turn, unless the client only exchanges one `resume` for another, which it does abort first."""
        if request.kind == "resume":
            await asyncio.sleep(limits.RESUME_EXCHANGE_SECONDS)
            if any(other.turn_id == turn_id and not other.aborted for other in self.requests.values()):
                return
        await self._cancel(turn_id)

    async def _cancel(self, turn_id: uuid.UUID) -> None:
        try:
            await in_thread(in_words, lambda: cancel(turn_id))
        except Refused as error:
            logger.warning("An abort was not carried out: %s", error)

    async def _answer(self, request: Request, frame: Frame) -> None:
        work = self._submit if frame["type"] == "send" else self._find
        try:
            turn_id = await in_thread(in_words, lambda: work(storable_frame(frame)))
            if turn_id is None:
                return await self.say(encode({"type": "no-active", "requestId": request.name}))
            request.turn_id = turn_id
            if request.aborted:
                self.start(self._stop(request, turn_id))
            await self._pump(request.name, turn_id)
        except Refused as error:
            await self._fail(request.name, str(error))
        except Exception:  # one request's fault must not end the others of this socket
            logger.exception("A request on a socket failed")
            await self._fail(request.name, UNKNOWN)
        finally:
            self.requests.pop(request.name, None)
        return None

    async def _fail(self, name: str, words: str) -> None:
        await self.say(encode({"type": "error", "requestId": name, "errorText": words}))

    async def _pump(self, name: str, turn_id: uuid.UUID) -> None:
        """The turn's chunks as they are, in frames put together as text: nothing is encoded twice."""
        await self.say(encode({"type": "start", "requestId": name}))
        head = f'{{"type":"chunk","requestId":{encode(name)},"sequence":'
        sequence, send = 0, self._send
        async with aclosing(reader.read_compact(turn_id)) as batches:
            async for batch in batches:
                for entry in batch:
                    text = f'{head}{sequence},"chunk":{entry.body}}}'
                    await send({"type": "websocket.send", "text": text})
                    sequence += 1
        await self.say(encode({"type": "end", "requestId": name}))

    def _submit(self, frame: Frame) -> uuid.UUID:
        with tracing.request("websocket send", {"network.protocol.name": "websocket"}, ""):
            return asks.submit(self.guest.owner, ask_in(frame)).turn.pk

    def _find(self, frame: Frame) -> uuid.UUID | None:
        """The turn to resume. A chat that has not sent anything yet is idle; another's is not found."""
        session = self.guest.owner.sessions().filter(**sessions.by_key(frame["id"])).first()
        if session is None and UUID_FORM.fullmatch(frame["id"]):
            raise Refused(NOT_FOUND)
        turn = current_turn(session) if session is not None else None
        return turn.pk if turn is not None else None


def cancel(turn_id: uuid.UUID) -> None:
    turns.cancel(Turn.objects.get(pk=turn_id))


def storable_frame(frame: Frame) -> Frame:
    """Return the frame as it is; raises Refused where POST would refuse the same body."""
    try:
        is_fit = storable.json_value(frame) is frame
    except storable.NotStorable as error:
        raise Refused(f"The message cannot be taken: {error}.") from None
    if not is_fit:
        raise Refused("The message contains a NUL character or half of a surrogate pair. Remove it.")
    return frame


def ask_in(frame: Frame) -> dict[str, Any]:
    """A `send` frame as the body the same client would post: what the app adds comes in `body`."""
    body = frame.get("body")
    named = {name: frame[name] for name in ("id", "messages", "trigger", "messageId") if name in frame}
    return (body if isinstance(body, dict) else {}) | named


TEXTS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


def tokens_in(text: str) -> int:
    """Return how many brackets, commas and colons a document has; those in its texts count only if there are few.

    The parser holds the interpreter for as long as there are tokens, whatever the length: 512 kB of `[],` took ten
    times as long as 512 kB of text.
    """
    count = sum(map(text.count, "[{,:"))
    return count if count <= limits.MAX_FRAME_TOKENS else sum(map(TEXTS.sub("", text).count, "[{,:"))


def parse(text: str) -> Frame:
    """A client's frame; anything else closes the socket."""
    if tokens_in(text) > limits.MAX_FRAME_TOKENS:
        raise Closing(CloseCode.BAD_FRAME)
    try:
        frame = storable.loads(text)
    except ValueError:
        raise Closing(CloseCode.BAD_FRAME) from None
    if not isinstance(frame, dict) or not isinstance(frame.get("type"), str):
        raise Closing(CloseCode.BAD_FRAME)
    name = frame.get("requestId")
    if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME_CHARACTERS or not storable.is_text(name):
        raise Closing(CloseCode.BAD_FRAME)
    return frame
