"""A real SMTP server on the loopback: STARTTLS or TLS from the start, a login, and a place for mail."""

from __future__ import annotations

import base64
import contextlib
import socketserver
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(kw_only=True)
class MailServer:
    """What the server is, and what it got."""

    tls: ssl.SSLContext
    port: int = 0
    password: str = "right"
    offers_tls: bool = True
    tls_from_the_start: bool = False
    refuses_tls: bool = False  # STARTTLS is offered and answered with an error
    plain_login: bool = (
        False  # AUTH is offered without TLS: what is left of a server behind a stripped STARTTLS
    )
    refuses: str = ""  # the command to refuse: RCPT, MAIL, DATA
    silent: bool = False
    messages: list[str] = field(default_factory=list)
    logins: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)  # every command, encrypted or not


@contextlib.contextmanager
def serve_mail(server: MailServer) -> Iterator[MailServer]:
    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            with contextlib.suppress(OSError):
                self.converse()

        def start_tls(self) -> None:
            self.request = server.tls.wrap_socket(self.request, server_side=True)
            self.rfile, self.wfile = self.request.makefile("rb"), self.request.makefile("wb", 0)

        def say(self, text: str) -> None:
            self.wfile.write(text.encode() + b"\r\n")

        def converse(self) -> None:
            if server.silent:
                return
            if server.tls_from_the_start:
                self.start_tls()
            encrypted = server.tls_from_the_start
            self.say("220 here")
            while line := self.rfile.readline().decode().strip():
                command = line[:4].upper()
                server.lines.append(line)
                if command == "EHLO":
                    offers = ["STARTTLS"] if server.offers_tls and not encrypted else []
                    offers += ["AUTH PLAIN"] if encrypted or server.plain_login else []
                    self.say("".join(f"250-{offer}\r\n" for offer in ["hello", *offers]) + "250 SIZE 1000000")
                elif line.upper() == "STARTTLS" and server.refuses_tls:
                    self.say("454 not now")
                elif line.upper() == "STARTTLS":
                    self.say("220 go")
                    self.start_tls()
                    encrypted = True
                elif command == "AUTH":
                    server.logins.append(base64.b64decode(line.split()[2]).decode())
                    self.say("235 ok" if server.logins[-1].endswith(f"\0{server.password}") else "535 no")
                elif server.refuses and line.upper().startswith(server.refuses):
                    self.say("550 refused")
                elif command == "DATA":
                    self.say("354 go on")
                    self.receive()
                elif command == "QUIT":
                    self.say("221 bye")
                    return
                else:
                    self.say("250 ok")

        def receive(self) -> None:
            lines: list[str] = []
            while (line := self.rfile.readline().decode().rstrip("\r\n")) != ".":
                lines.append(line)
            server.messages.append("\n".join(lines))
            self.say("250 kept")

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        allow_reuse_address = True

    with Server(("127.0.0.1", 0), Handler) as listening:
        server.port = listening.server_address[1]
        arguments: dict[str, Any] = {"poll_interval": 0.02}
        threading.Thread(target=listening.serve_forever, kwargs=arguments, daemon=True).start()
        try:
            yield server
        finally:
            listening.shutdown()
