"""A real push service: an HTTP server that takes messages for browsers and reads them as a browser would."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat


def encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def hkdf(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(algorithm=hashes.SHA256(), length=length, salt=salt, info=info).derive(secret)


class PushedBrowser:
    """The keys of one subscription, and how a browser decrypts what comes for it (RFC 8291, aes128gcm)."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.point = self.key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        self.auth = name.encode().ljust(16, b"\0")[:16]

    def keys(self) -> dict[str, str]:
        return {"p256dh": encoded(self.point), "auth": encoded(self.auth)}

    def read(self, body: bytes) -> dict[str, Any]:
        salt, length = body[:16], body[20]
        sender, sealed = body[21 : 21 + length], body[21 + length :]
        shared = self.key.exchange(
            ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender)
        )
        secret = hkdf(shared, self.auth, b"WebPush: info\0" + self.point + sender, 32)
        key = hkdf(secret, salt, b"Content-Encoding: aes128gcm\0", 16)
        nonce = hkdf(secret, salt, b"Content-Encoding: nonce\0", 12)
        found: dict[str, Any] = json.loads(AESGCM(key).decrypt(nonce, sealed, None).rstrip(b"\2"))
        return found


@dataclass
class PushService:
    """Its subscriptions, what came for each, and what it answers."""

    port: int = 0
    browsers: dict[str, PushedBrowser] = field(default_factory=dict)
    messages: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    claims: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    statuses: dict[str, int] = field(default_factory=dict)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def subscription(self, name: str) -> dict[str, Any]:
        """A subscription as a browser would give it, pointed at this service."""
        self.browsers.setdefault(name, PushedBrowser(name))
        return {
            "endpoint": f"http://{self.host}/push/{name}",
            "keys": self.browsers[name].keys(),
            "name": name,
        }

    def take(self, name: str, headers: dict[str, str], body: bytes) -> int:
        status = self.statuses.get(name, 201)
        if status == 201:
            token, key = headers["authorization"].removeprefix("vapid t=").split(", k=")
            point = base64.urlsafe_b64decode(key + "=" * (-len(key) % 4))
            public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
            self.claims.append(jwt.decode(token, public, algorithms=["ES256"], audience="http://127.0.0.1"))
            self.headers.append(headers)
            self.messages.append((name, self.browsers[name].read(body)))
        return status


@contextmanager
def push_service() -> Iterator[PushService]:
    service = PushService()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            self.send_response(service.take(self.path.rpartition("/")[2], headers, body))
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *words: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    service.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield service
    server.shutdown()
    server.server_close()
