"""A real SMTP server on the loopback: STARTTLS or TLS from the start, a login, and a place for mail."""

from __future__ import annotations

import base64
import contextlib
import socketserver
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def make_certificate(folder: Path, name: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A self-signed certificate for a name: the server's context and one of a client that trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = folder / "server.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(path)
    client = ssl.create_default_context(cadata=certificate.public_bytes(serialization.Encoding.PEM).decode())
    return server, client


@dataclass(kw_only=True)
class MailServer:
    """What the server is, and what it got."""

    tls: ssl.SSLContext
    port: int = 0
    password: str = "right"
    offers_tls: bool = True
    tls_from_the_start: bool = False
    refuses: str = ""  # the command to refuse: RCPT, MAIL, DATA
    silent: bool = False
    messages: list[str] = field(default_factory=list)
    logins: list[str] = field(default_factory=list)


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
                if command == "EHLO":
                    extra = "AUTH PLAIN" if encrypted else "STARTTLS" if server.offers_tls else "SIZE 1000000"
                    self.say(f"250-hello\r\n250 {extra}")
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
