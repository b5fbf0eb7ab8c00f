"""The web server: Daphne, with back-pressure and an orderly goodbye.

Daphne takes whatever an application sends and keeps it in memory until the client reads it. Here `send` waits
while a connection's buffer is full, and a client that does not read for SOCKET_STALL_SECONDS is let go: a
websocket with code 4408, a plain response by cutting it off. Both resume where they were.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
from collections.abc import Sequence
from typing import Any
from weakref import WeakSet

# First of all Twisted's imports: it installs the asyncio reactor.
from daphne.server import Server as DaphneServer  # type: ignore[import-untyped]  # isort: skip

from daphne.http_protocol import HTTPFactory, WebRequest  # type: ignore[import-untyped]
from daphne.ws_protocol import WebSocketFactory, WebSocketProtocol  # type: ignore[import-untyped]
from twisted.internet import defer
from twisted.internet import reactor as installed_reactor
from twisted.internet.interfaces import IPushProducer
from twisted.internet.task import LoopingCall
from zope.interface import implementer  # type: ignore[import-untyped]

from durable import alive, limits, tallies
from durable.stop import StopReason, leaving

logger = logging.getLogger(__name__)
reactor: Any = installed_reactor

TOO_SLOW = 4408
GOING_AWAY = 1001
LISTEN_AGAIN_SECONDS = 0.05
LAST_REQUEST_SECONDS = 0.3  # for a request that is on its way on a connection that was taken
REFUSAL = b'{"error":{"code":"too_large","message":"The request\'s body is too large."}}'
TOO_LARGE = (
    b"HTTP/1.1 413 Content Too Large\r\nContent-Type: application/json\r\nConnection: close\r\n"
    b"Content-Length: %d\r\n\r\n%s" % (len(REFUSAL), REFUSAL)
)


@implementer(IPushProducer)
class Gate:
    """Shut by the transport while its buffer is full; open again when it has drained or the connection is gone."""

    def __init__(self) -> None:
        self.is_open = True
        self._waiting: list[asyncio.Future[None]] = []

    def pauseProducing(self) -> None:
        self.is_open = False

    def resumeProducing(self) -> None:
        self.is_open = True
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    stopProducing = resumeProducing

    async def passed(self, seconds: float) -> None:
        """Wait until it is open; raises TimeoutError."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        async with asyncio.timeout(seconds):
            await future


class PatientSocket(WebSocketProtocol):  # type: ignore[misc]
    """A websocket whose sender waits for its reader."""

    maxMessagePayloadSize: int

    def onConnect(self, request: Any) -> Any:
        self.gate = Gate()
        return super().onConnect(request)

    def onOpen(self) -> None:
        """The connection came through an HTTP channel, which was told of a full buffer until now."""
        self.transport.unregisterProducer()
        self.transport.registerProducer(self.gate, True)
        super().onOpen()

    def onMessage(self, payload: bytes, isBinary: bool) -> None:
        """Read no further while the application has so much to hear already."""
        super().onMessage(payload, isBinary)
        if self.application_queue.qsize() == limits.MAX_UNHEARD_FRAMES:
            self.transport.pauseProducing()
            reactor.callLater(LISTEN_AGAIN_SECONDS, self._listen_again)

    def _listen_again(self) -> None:
        if self.state != self.STATE_OPEN:
            return
        if self.application_queue.qsize() >= limits.MAX_UNHEARD_FRAMES:
            reactor.callLater(LISTEN_AGAIN_SECONDS, self._listen_again)
        else:
            self.transport.resumeProducing()

    def onClose(self, wasClean: bool, code: int | None, reason: str | None) -> None:
        self.gate.stopProducing()
        super().onClose(wasClean, code, reason)

    def handle_reply(self, message: dict[str, Any]) -> None:
        """What an application says into a socket that is closing is lost, as it would be a moment later."""
        if self.state in (self.STATE_CONNECTING, self.STATE_OPEN):
            super().handle_reply(message)

    def sendMessage(self, payload: bytes, *args: Any, **kwargs: Any) -> None:
        """The limit is one for what clients send: Autobahn would refuse to send them a long event as well."""
        limit, self.maxMessagePayloadSize = self.maxMessagePayloadSize, 0
        try:
            super().sendMessage(payload, *args, **kwargs)
        finally:
            self.maxMessagePayloadSize = limit

    def serverClose(self, code: int | None = None) -> None:
        """Any code the standard knows: Autobahn's own `sendClose` refuses those below 3000."""
        self.sendCloseFrame(code=1000 if code is None else code)

    def let_go(self) -> None:
        """Say why, for a client that is slow but alive; the one that is not is cut off soon after."""
        self.sendCloseFrame(code=TOO_SLOW)


class PatientRequest(WebRequest):  # type: ignore[misc]
    """A response whose sender waits for its reader."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.gate = Gate()
        self.is_stream = False  # of events: it ends when it is cut off, and is resumed elsewhere

    def process(self) -> None:
        self.channel.has_asked = True
        super().process()

    def gotLength(self, length: int | None) -> None:
        """A body that says it is too large is refused before it is read."""
        self.body_bytes, self.is_refused = 0, False
        super().gotLength(length)
        if length is not None and length > limits.MAX_REQUEST_BYTES:
            self._refuse()

    def handleContentChunk(self, data: bytes) -> None:
        """One that does not say how large it is, as soon as it turns out to be."""
        self.body_bytes += len(data)
        if self.is_refused:
            return
        if self.body_bytes > limits.MAX_REQUEST_BYTES:
            self._refuse()
            return
        super().handleContentChunk(data)

    def _refuse(self) -> None:
        self.is_refused = True
        self.channel.transport.write(TOO_LARGE)
        self.channel.loseConnection()

    def handle_reply(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start" and self.channel is not None and not self.finished:
            self.registerProducer(self.gate, True)
            kind = dict(message.get("headers", ())).get(b"Content-Type", b"")
            self.is_stream = kind.startswith(b"text/event-stream")
        super().handle_reply(message)

    def finish(self) -> None:
        self._unregister()
        super().finish()

    def connectionLost(self, reason: Any) -> None:
        self.gate.stopProducing()
        super().connectionLost(reason)

    def let_go(self) -> None:
        """Nothing can be said any more in the middle of a response."""
        transport = self.channel.transport if self.channel is not None else None
        self._unregister()
        if transport is not None:
            transport.abortConnection()

    def _unregister(self) -> None:
        if self.producer is not None and self.channel is not None:
            self.unregisterProducer()


class PatientSocketFactory(WebSocketFactory):  # type: ignore[misc]
    protocol = PatientSocket

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.closeHandshakeTimeout = limits.SOCKET_CLOSE_SECONDS
        self.failByDrop = False  # a frame that is too big is answered with its code, not with a cut line


class PatientHTTPFactory(HTTPFactory):  # type: ignore[misc]
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._connections: WeakSet[Any] = WeakSet()

    def buildProtocol(self, addr: Any) -> Any:
        protocol = super().buildProtocol(addr)
        protocol.requestFactory = PatientRequest
        self._connections.add(protocol._channel)
        return protocol

    def is_about_to_be_asked(self) -> bool:
        """Whether somebody was let in who has not said everything yet: a proxy does so only for a request it has."""
        return any(
            not getattr(channel, "has_asked", False) and getattr(channel.transport, "connected", False)
            for channel in list(self._connections)
        )


class Server(DaphneServer):  # type: ignore[misc]
    """Daphne's server with patient connections."""

    stall_seconds = limits.SOCKET_STALL_SECONDS

    async def handle_reply(self, protocol: Any, message: dict[str, Any]) -> None:
        await super().handle_reply(protocol, message)
        if not protocol.gate.is_open:
            await self._wait_for(protocol)

    async def _wait_for(self, protocol: Any) -> None:
        try:
            await protocol.gate.passed(self.stall_seconds)
        except TimeoutError:
            tallies.count(tallies.Tally.DROPPED_CLIENTS)
            logger.info("A client did not read for %s seconds and was let go", self.stall_seconds)
            protocol.let_go()
            protocol.gate.stopProducing()

    def kill_all_applications(self) -> Any:
        """Take no more, answer what was asked, tell the sockets that they may come back at once, then end the rest."""
        return defer.Deferred.fromFuture(asyncio.ensure_future(self._say_goodbye()))

    async def _say_goodbye(self) -> None:
        leaving.set(StopReason.HAND_OVER)
        for listener in self.listeners:
            port: Any = getattr(listener, "result", None)
            if hasattr(port, "stopListening"):
                port.doRead()  # takes who stands at the door; the kernel would turn them away with the door
                port.stopListening()
        loop = asyncio.get_running_loop()
        earliest, latest = loop.time() + LAST_REQUEST_SECONDS, loop.time() + limits.WEB_GOODBYE_SECONDS
        while loop.time() < earliest or (self._is_answering() and loop.time() < latest):
            await asyncio.sleep(LISTEN_AGAIN_SECONDS)
        for protocol, details in list(self.connections.items()):
            details.setdefault("application_instance", done())
            if isinstance(protocol, PatientSocket) and protocol.state == protocol.STATE_OPEN:
                protocol.sendCloseFrame(code=GOING_AWAY)
        await super().kill_all_applications().asFuture(loop)

    def _is_answering(self) -> bool:
        """Whether somebody will have a whole answer soon: a request that is no stream, a socket that is opening."""
        if self.http_factory.is_about_to_be_asked():
            return True
        for protocol, details in self.connections.items():
            instance = details.get("application_instance")
            if isinstance(protocol, PatientSocket):
                if protocol.state == protocol.STATE_CONNECTING:
                    return True
            elif instance is not None and not instance.done() and not protocol.is_stream:
                return True
        return False


def done() -> asyncio.Future[None]:
    """An application that has ended; Daphne expects one per connection when it stops."""
    future: asyncio.Future[None] = asyncio.get_event_loop().create_future()
    future.set_result(None)
    return future


def use_patient_connections() -> None:
    """Daphne's server makes its factories by these names."""
    module = sys.modules[DaphneServer.__module__]
    module.HTTPFactory = PatientHTTPFactory  # type: ignore[attr-defined]
    module.WebSocketFactory = PatientSocketFactory  # type: ignore[attr-defined]


def make_server(application: Any, endpoints: Sequence[str]) -> Server:
    use_patient_connections()
    return Server(
        application=application,
        endpoints=list(endpoints),
        ping_interval=20,
        ping_timeout=30,
        websocket_timeout=-1,
        websocket_max_message_size=limits.MAX_FRAME_BYTES,
        websocket_max_frame_size=limits.MAX_FRAME_BYTES,
        application_close_timeout=int(limits.SOCKET_CLOSE_SECONDS),
        server_name=None,
        verbosity=0,
    )


def default_endpoint() -> str:
    host, port = os.environ.get("HOST") or "127.0.0.1", os.environ.get("PORT") or "8000"
    return f"tcp:port={int(port)}:interface={host.replace(':', chr(92) + ':')}"


def main(words: Sequence[str]) -> None:
    """`python -m copilot_project.server [-e ENDPOINT ...]`; without endpoints HOST and PORT say where."""
    parser = argparse.ArgumentParser(prog="copilot_project.server")
    parser.add_argument("-e", "--endpoint", action="append", help="a Twisted endpoint, such as fd:fileno=3")
    endpoints = parser.parse_args(words).endpoint or [default_endpoint()]
    from copilot_project.asgi import (
        application,
    )  # sets Django up; only the program needs it, not who imports it

    sys.setswitchinterval(limits.WEB_SWITCH_SECONDS)
    LoopingCall(alive.touch).start(limits.ALIVE_SECONDS)
    make_server(application, endpoints).run()


if __name__ == "__main__":
    main(sys.argv[1:])
