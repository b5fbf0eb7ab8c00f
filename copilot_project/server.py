"""The web server: Daphne with back-pressure and a graceful shutdown.

Daphne keeps whatever an application sends in memory until the client reads it. Here `send` waits while the buffer of
a connection is full, and a client that does not read for SOCKET_STALL_SECONDS is disconnected: a websocket with code
4408, a response by aborting it. Both can resume where they were.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import os
import socket
import sys
from collections.abc import Sequence
from typing import Any
from weakref import WeakSet

# Before all other imports of Twisted: it installs the asyncio reactor.
from daphne.server import Server as DaphneServer  # type: ignore[import-untyped]  # isort: skip

from daphne.http_protocol import HTTPFactory, WebRequest  # type: ignore[import-untyped]
from daphne.ws_protocol import WebSocketFactory, WebSocketProtocol  # type: ignore[import-untyped]
from twisted.internet import defer
from twisted.internet import reactor as installed_reactor
from twisted.internet.interfaces import IPushProducer
from twisted.internet.main import CONNECTION_DONE
from twisted.internet.task import LoopingCall
from twisted.python.failure import Failure
from zope.interface import implementer  # type: ignore[import-untyped]

from chat import limits as chat_limits
from copilot_project import limits
from durable import counters, liveness
from durable import limits as durable_limits
from durable.stop_signal import StopReason, leaving

logger = logging.getLogger(__name__)
reactor: Any = installed_reactor

TOO_SLOW = 4408
GOING_AWAY = 1001
RETRY_SECONDS = 0.05
LAST_REQUEST_SECONDS = 0.3  # for a request that is still arriving on an accepted connection
REFUSAL = b'{"error":{"code":"too_large","message":"The request\'s body is too large."}}'
TOO_LARGE = (
    b"HTTP/1.1 413 Content Too Large\r\nContent-Type: application/json\r\nConnection: close\r\n"
    b"Content-Length: %d\r\n\r\n%s" % (len(REFUSAL), REFUSAL)
)


@implementer(IPushProducer)
class Gate:
    """Closed by the transport while its buffer is full; open again when it has drained or the connection is gone."""

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
        """Wait until the gate is open; raise TimeoutError."""
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
        """Take over back-pressure from the HTTP channel through which the connection came."""
        self.transport.unregisterProducer()
        self.transport.registerProducer(self.gate, True)
        super().onOpen()

    def onMessage(self, payload: bytes, isBinary: bool) -> None:
        """Stop reading while the application has many unread frames."""
        super().onMessage(payload, isBinary)
        if self.application_queue.qsize() == limits.MAX_UNREAD_FRAMES:
            self.transport.pauseProducing()
            reactor.callLater(RETRY_SECONDS, self._resume_reading)

    def _resume_reading(self) -> None:
        if self.state != self.STATE_OPEN:
            return
        if self.application_queue.qsize() >= limits.MAX_UNREAD_FRAMES:
            reactor.callLater(RETRY_SECONDS, self._resume_reading)
        else:
            self.transport.resumeProducing()

    def onClose(self, wasClean: bool, code: int | None, reason: str | None) -> None:
        self.gate.stopProducing()
        super().onClose(wasClean, code, reason)

    def handle_reply(self, message: dict[str, Any]) -> None:
        """Drop what an application sends to a closing socket, as it would be lost a moment later."""
        if self.state in (self.STATE_CONNECTING, self.STATE_OPEN):
            super().handle_reply(message)

    def sendMessage(self, payload: bytes, *args: Any, **kwargs: Any) -> None:
        """Send without the size limit, which is meant for what clients send."""
        limit, self.maxMessagePayloadSize = self.maxMessagePayloadSize, 0
        try:
            super().sendMessage(payload, *args, **kwargs)
        finally:
            self.maxMessagePayloadSize = limit

    def serverClose(self, code: int | None = None) -> None:
        """Close with any standard code; `sendClose` of Autobahn refuses those below 3000."""
        self.sendCloseFrame(code=1000 if code is None else code)

    def disconnect_slow(self) -> None:
        """Send the reason, for a client that is slow but alive; a dead one is aborted soon after."""
        self.sendCloseFrame(code=TOO_SLOW)


class PatientRequest(WebRequest):  # type: ignore[misc]
    """A response whose sender waits for its reader."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._parsePOSTFormSubmission = False  # Django parses bodies, and Twisted would hold all of an upload
        self.gate = Gate()
        self.is_stream = False  # of events: it may be aborted, as the client resumes it elsewhere

    def process(self) -> None:
        self.channel.has_asked = True
        super().process()

    def gotLength(self, length: int | None) -> None:
        """Refuse a body whose Content-Length is too large before reading it."""
        self.body_bytes, self.is_refused = 0, False
        super().gotLength(length)
        if length is not None and length > limits.MAX_REQUEST_BYTES:
            self._refuse()

    def handleContentChunk(self, data: bytes) -> None:
        """Refuse a body of unknown length as soon as it is too large."""
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

    def disconnect_slow(self) -> None:
        """Abort the response; no error can be sent in the middle of it."""
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
        self.failByDrop = False  # answer a frame that is too big with a close code instead of aborting


class PatientHTTPFactory(HTTPFactory):  # type: ignore[misc]
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._connections: WeakSet[Any] = WeakSet()

    def buildProtocol(self, addr: Any) -> Any:
        protocol = super().buildProtocol(addr)
        protocol.requestFactory = PatientRequest
        self._connections.add(protocol._channel)
        return protocol

    def log(self, request: Any) -> None:
        """Format no line of an access log: nobody reads it, and it cost as much as a statement."""

    def expects_request(self) -> bool:
        """Return whether an accepted connection has not sent its whole request; proxies connect only for a request."""
        return any(
            not getattr(channel, "has_asked", False) and getattr(channel.transport, "connected", False)
            for channel in list(self._connections)
        )


class Server(DaphneServer):  # type: ignore[misc]
    """Daphne's server with back-pressure and a graceful shutdown."""

    stall_seconds = limits.SOCKET_STALL_SECONDS

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._ports: list[Any] = []

    def listen_success(self, port: Any) -> None:
        self._ports.append(port)
        super().listen_success(port)

    async def handle_reply(self, protocol: Any, message: dict[str, Any]) -> None:
        await super().handle_reply(protocol, message)
        if not protocol.gate.is_open:
            await self._wait_for(protocol)

    async def _wait_for(self, protocol: Any) -> None:
        try:
            await protocol.gate.passed(self.stall_seconds)
        except TimeoutError:
            counters.count(counters.CounterBuffer.DROPPED_CLIENTS)
            logger.info("A client did not read for %s seconds and was disconnected", self.stall_seconds)
            protocol.disconnect_slow()
            protocol.gate.stopProducing()

    def kill_all_applications(self) -> Any:
        """Stop listening, finish requests in progress, tell sockets to reconnect, then end the rest."""
        return defer.Deferred.fromFuture(asyncio.ensure_future(self._shut_down()))

    async def _shut_down(self) -> None:
        leaving.set(StopReason.HAND_OVER)
        for port in self._ports:
            stop_listening(port)
        loop = asyncio.get_running_loop()
        earliest, latest = loop.time() + LAST_REQUEST_SECONDS, loop.time() + limits.WEB_SHUTDOWN_SECONDS
        while loop.time() < earliest or (self._is_answering() and loop.time() < latest):
            await asyncio.sleep(RETRY_SECONDS)
        for protocol, details in list(self.connections.items()):
            details.setdefault("application_instance", done())
            if isinstance(protocol, PatientSocket) and protocol.state == protocol.STATE_OPEN:
                protocol.sendCloseFrame(code=GOING_AWAY)
        await super().kill_all_applications().asFuture(loop)

    def _is_answering(self) -> bool:
        """Return whether a request that is not a stream is in progress, or a socket is opening."""
        if self.http_factory.expects_request():
            return True
        for protocol, details in self.connections.items():
            instance = details.get("application_instance")
            if isinstance(protocol, PatientSocket):
                if protocol.state == protocol.STATE_CONNECTING:
                    return True
            elif instance is not None and not instance.done() and not protocol.is_stream:
                return True
        return False


def stop_listening(port: Any) -> None:
    """Accept all pending connections and close the port at once: closing resets those that were not accepted.

    `stopListening` would close it in a later turn of the event loop, and Twisted accepts as few connections at a time
    as it accepted before.
    """
    port.stopReading()
    port.numberAccepts = socket.SOMAXCONN
    port.doRead()
    port.connectionLost(Failure(CONNECTION_DONE))  # type: ignore[no-untyped-call]


def done() -> asyncio.Future[None]:
    """Return a finished application; Daphne expects one per connection when it stops."""
    future: asyncio.Future[None] = asyncio.get_event_loop().create_future()
    future.set_result(None)
    return future


def use_patient_connections() -> None:
    """Replace the factories that Daphne's server looks up by name."""
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
        websocket_max_message_size=chat_limits.MAX_FRAME_BYTES,
        websocket_max_frame_size=chat_limits.MAX_FRAME_BYTES,
        application_close_timeout=int(limits.SOCKET_CLOSE_SECONDS),
        server_name=None,
        verbosity=0,
    )


def default_endpoint() -> str:
    host, port = os.environ.get("HOST") or "127.0.0.1", os.environ.get("PORT") or "8000"
    return f"tcp:port={int(port)}:interface={host.replace(':', chr(92) + ':')}"


def main(words: Sequence[str]) -> None:
    """Run `python -m copilot_project.server [-e ENDPOINT ...]`; the default endpoint is HOST and PORT."""
    parser = argparse.ArgumentParser(prog="copilot_project.server")
    parser.add_argument("-e", "--endpoint", action="append", help="a Twisted endpoint, such as fd:fileno=3")
    endpoints = parser.parse_args(words).endpoint or [default_endpoint()]
    from copilot_project.asgi import (
        application,
    )  # sets Django up, which importers of this module do not need

    sys.setswitchinterval(limits.WEB_SWITCH_SECONDS)
    gc.freeze()  # a full collection of what is loaded would stop all streams for a tenth of a second
    LoopingCall(liveness.touch).start(durable_limits.ALIVE_SECONDS)
    make_server(application, endpoints).run()


if __name__ == "__main__":
    main(sys.argv[1:])
