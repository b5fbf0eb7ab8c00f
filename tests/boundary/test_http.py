"""What the guarded client sends, and how it reads what comes back."""

from __future__ import annotations

import gzip
import http.server
import ipaddress
import json
import socket
import ssl
import threading
import zlib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from django.core.exceptions import ImproperlyConfigured

from boundary import limits
from boundary.addresses import SystemResolver
from boundary.errors import (
    BadAnswer,
    BlockedReason,
    BlockedUrl,
    ConnectionFailed,
    FetchError,
    HostNotFound,
    InvalidRequest,
    TooSlow,
)
from boundary.http import OutboundRequest, Outside, UploadPart, fetch
from boundary.policy import AllowList, NetworkPolicy
from tests.boundary.servers import ListedResolver, LocalServer, Received, Rerouted, listen, reply, serve

PUBLIC = "93.184.216.34"
OTHER_PUBLIC = "151.101.1.69"


def allowing(*servers: LocalServer) -> Outside:
    return Outside(policy=NetworkPolicy(allowed=AllowList.of([server.host for server in servers])))


def answering(body: bytes = b"ok", **more: Any) -> Any:
    def answer(handler: http.server.BaseHTTPRequestHandler, received: Received) -> None:
        reply(handler, body, **more)

    return answer


def test_json_is_sent_with_its_type() -> None:
    with serve(
        answering(b'{"a": 1}', headers=[("content-type", "application/json; charset=utf-8")])
    ) as server:
        request = OutboundRequest(
            url=server.url("/x"), method="post", json={"q": "ä"}, headers={"X-Key": "1"}
        )
        response = fetch(request, allowing(server))
    received = server.received[0]
    assert (received.method, received.path, json.loads(received.body)) == ("POST", "/x", {"q": "ä"})
    assert (received.headers["content-type"], received.headers["x-key"]) == ("application/json", "1")
    assert (response.media_type, response.charset, response.body) == (
        "application/json",
        "utf-8",
        b'{"a": 1}',
    )
    assert response.header("Content-Type") == "application/json; charset=utf-8"
    assert response.header("missing") == ""


def test_a_form_is_sent_url_encoded() -> None:
    with serve(answering()) as server:
        fetch(OutboundRequest(url=server.url(), method="POST", form={"a": "1 2", "b": "&"}), allowing(server))
    assert server.received[0].body == b"a=1+2&b=%26"
    assert server.received[0].headers["content-type"] == "application/x-www-form-urlencoded"


def test_files_are_sent_as_a_multipart_form() -> None:
    part = UploadPart(field="file", filename="a.txt", content=b"hello", media_type="text/plain")
    with serve(answering()) as server:
        fetch(
            OutboundRequest(url=server.url(), method="POST", form={"k": "v"}, files=(part,)), allowing(server)
        )
    assert server.received[0].headers["content-type"].startswith("multipart/form-data; boundary=")
    assert b'name="file"; filename="a.txt"' in server.received[0].body
    assert b"hello" in server.received[0].body


def test_a_body_of_bytes_is_sent_as_it_is() -> None:
    with serve(answering()) as server:
        fetch(OutboundRequest(url=server.url(), method="PUT", body=b"\x00\x01"), allowing(server))
    assert server.received[0].body == b"\x00\x01"


@pytest.mark.parametrize("status", [400, 404, 500])
def test_an_error_status_is_an_answer(status: int) -> None:
    with serve(answering(b"no", status=status)) as server:
        response = fetch(OutboundRequest(url=server.url()), allowing(server))
    assert (response.status, response.body) == (status, b"no")


@pytest.mark.parametrize(
    "change",
    [
        {"method": "CONNECT"},
        {"method": "GET\r\nX: y"},
        {"headers": {"Host": "evil.example"}},
        {"headers": {"Content-Length": "0"}},
        {"headers": {"transfer-encoding": "chunked"}},
        {"headers": {"Proxy-Authorization": "x"}},
        {"headers": {"X": "a\r\nY: b"}},
        {"headers": {"X\n": "a"}},
        {"headers": {"Ü": "a"}},
        {"headers": {"a b": "c"}},
        {"headers": {f"x-{number}": "1" for number in range(limits.MAX_REQUEST_HEADERS + 1)}},
        {"method": "POST", "body": b"a", "json": {}},
        {"method": "POST", "json": {1, 2}},
        {"method": "POST", "json": float("nan")},
        {"method": "POST", "body": b"x" * (limits.MAX_SEND_BYTES + 1)},
    ],
    ids=lambda options: str(options)[:60],
)
def test_a_request_that_must_not_be_sent_is_refused(change: dict[str, Any]) -> None:
    with serve(answering()) as server, pytest.raises(InvalidRequest):
        fetch(OutboundRequest(url=server.url(), **change), allowing(server))
    assert server.received == []


def raw_deflate(data: bytes) -> bytes:
    encoder = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return encoder.compress(data) + encoder.flush()


TEXT = b"abc" * 100_000


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(TEXT)),
        ("x-gzip", gzip.compress(TEXT[:10]) + gzip.compress(TEXT[10:])),
        ("gzip", gzip.compress(TEXT) + b"\0\0\0"),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", raw_deflate(TEXT)),
        ("identity", TEXT),
    ],
)
def test_a_compressed_answer_is_decoded(encoding: str, body: bytes) -> None:
    with serve(answering(body, headers=[("content-encoding", encoding)])) as server:
        assert fetch(OutboundRequest(url=server.url()), allowing(server)).body == TEXT
    assert server.received[0].headers["accept-encoding"] == "gzip, deflate"


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("br", b"x"),
        ("gzip, gzip", gzip.compress(gzip.compress(b"x"))),
        ("gzip", b"nonsense"),
        ("deflate", b"\xff\xff"),
        ("gzip", gzip.compress(TEXT)[:-9]),
    ],
)
def test_an_answer_that_cannot_be_decoded_is_an_error(encoding: str, body: bytes) -> None:
    with serve(answering(body, headers=[("content-encoding", encoding)])) as server, pytest.raises(BadAnswer):
        fetch(OutboundRequest(url=server.url()), allowing(server))


def test_head_and_empty_compressed_answers_have_no_body() -> None:
    with serve(answering(b"", headers=[("content-encoding", "gzip")])) as server:
        assert fetch(OutboundRequest(url=server.url()), allowing(server)).body == b""
        assert fetch(OutboundRequest(url=server.url(), method="HEAD"), allowing(server)).body == b""


def hop(status: int, to: str = "/end") -> Any:
    def answer(handler: http.server.BaseHTTPRequestHandler, received: Received) -> None:
        if received.path == "/end":
            reply(handler, b"end")
        else:
            reply(handler, b"moved", status=status, headers=[("location", to)])

    return answer


@pytest.mark.parametrize(
    ("status", "method", "body"),
    [(303, "GET", b""), (302, "GET", b""), (307, "POST", b"x"), (308, "POST", b"x")],
)
def test_a_redirect_changes_the_method_as_browsers_do(status: int, method: str, body: bytes) -> None:
    with serve(hop(status)) as server:
        response = fetch(OutboundRequest(url=server.url("/a"), method="POST", body=b"x"), allowing(server))
    assert (server.received[1].method, server.received[1].body) == (method, body)
    assert (response.url, response.redirects) == (server.url("/end"), (server.url("/a"),))


def test_redirects_are_not_followed_when_not_asked_for() -> None:
    with serve(hop(302)) as server:
        response = fetch(OutboundRequest(url=server.url("/a"), follow_redirects=False), allowing(server))
    assert (response.status, response.header("location"), response.body) == (302, "/end", b"moved")
    assert len(server.received) == 1


@pytest.mark.parametrize(
    "location", ["/\\evil.example", "http://a\tb.com/", "http://user@example.com/", "x" * 9000]
)
def test_a_redirect_to_a_malformed_url_is_refused(location: str) -> None:
    with serve(hop(302, location)) as server, pytest.raises(BlockedUrl):
        fetch(OutboundRequest(url=server.url("/a")), allowing(server))


def test_a_host_in_another_script_is_sent_in_ascii() -> None:
    with serve(answering()) as server:
        resolver = ListedResolver(answers={"xn--bcher-kva.example": [[PUBLIC]]})
        outside = Outside(policy=NetworkPolicy(), resolver=resolver, network=Rerouted({PUBLIC: server.port}))
        fetch(OutboundRequest(url="http://Bücher.example/ä?ö=ü#fragment"), outside)
    assert server.received[0].headers["host"] == "xn--bcher-kva.example"
    assert server.received[0].path == "/%C3%A4?%C3%B6=%C3%BC"


def test_the_next_checked_address_is_tried_when_the_first_is_down() -> None:
    with serve(answering()) as server:
        resolver = ListedResolver(answers={"two.example": [[OTHER_PUBLIC, PUBLIC]]})
        network = Rerouted({PUBLIC: server.port})
        outside = Outside(policy=NetworkPolicy(), resolver=resolver, network=network)
        assert fetch(OutboundRequest(url="http://two.example/"), outside).body == b"ok"
    assert network.connected == [(OTHER_PUBLIC, 80), (PUBLIC, 80)]


def test_a_name_without_addresses_is_not_found() -> None:
    outside = Outside(policy=NetworkPolicy(), resolver=ListedResolver(answers={}), network=Rerouted())
    with pytest.raises(HostNotFound):
        fetch(OutboundRequest(url="http://nowhere.example/"), outside)


def test_a_closed_port_is_a_failed_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    outside = Outside(policy=NetworkPolicy(allowed=AllowList.of([f"127.0.0.1:{port}"])))
    with pytest.raises(ConnectionFailed):
        fetch(OutboundRequest(url=f"http://127.0.0.1:{port}/"), outside)


@pytest.mark.parametrize(
    "answer", [b"SSH-2.0-OpenSSH\r\n", b"", b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nab"]
)
def test_a_server_that_does_not_speak_http_is_an_error(answer: bytes) -> None:
    with listen() as listener:

        def once() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)

        thread = threading.Thread(target=once, daemon=True)
        thread.start()
        host = f"127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises((BadAnswer, ConnectionFailed)):
            fetch(
                OutboundRequest(url=f"http://{host}/"),
                Outside(policy=NetworkPolicy(allowed=AllowList.of([host]))),
            )
        thread.join(5)


def test_no_time_at_all_is_too_slow() -> None:
    with serve(answering()) as server, pytest.raises(TooSlow):
        fetch(OutboundRequest(url=server.url(), timeout=-5), allowing(server))


def test_a_request_gets_no_more_time_than_the_outside_grants() -> None:
    with listen() as listener:  # accepts and says nothing
        host = f"127.0.0.1:{listener.getsockname()[1]}"
        outside = Outside(policy=NetworkPolicy(allowed=AllowList.of([host])), max_seconds=0.2)
        with pytest.raises(TooSlow):
            fetch(OutboundRequest(url=f"http://{host}/", timeout=3600.0), outside)
    assert allowing().max_seconds == limits.MAX_FETCH_SECONDS


def test_an_allowed_host_is_allowed_on_that_port_only() -> None:
    allowed = AllowList.of(["localhost:11434", "10.0.0.5:8000", "[::1]:9000", "db.internal"])
    assert allowed.pairs == {("localhost", 11434), ("10.0.0.5", 8000), ("::1", 9000), ("db.internal", 80)}
    network = Rerouted()
    outside = Outside(policy=NetworkPolicy(allowed=allowed), network=network)
    with pytest.raises(BlockedUrl):
        fetch(OutboundRequest(url="http://localhost:6379/"), outside)
    with pytest.raises(ConnectionFailed):
        fetch(OutboundRequest(url="http://10.0.0.5:8000/"), outside)
    assert network.connected == [("10.0.0.5", 8000)]


def test_the_operators_setting_lets_an_internal_service_through(settings: Any) -> None:
    with serve(answering(b"inner")) as server:
        with pytest.raises(BlockedUrl):
            fetch(OutboundRequest(url=server.url()))
        settings.BOUNDARY_ALLOWED_HOSTS = [server.host]
        assert fetch(OutboundRequest(url=server.url())).body == b"inner"


@pytest.mark.parametrize("entry", ["http://localhost:80", "a b:80", "user@host", "", "host:99999"])
def test_an_operators_entry_that_is_no_host_is_named(settings: Any, entry: str) -> None:
    settings.BOUNDARY_ALLOWED_HOSTS = ["localhost:11434", entry]
    with pytest.raises(ImproperlyConfigured, match="BOUNDARY_ALLOWED_HOSTS"):
        fetch(OutboundRequest(url="https://example.com/"))


def test_this_machines_own_addresses_are_refused_even_when_public(monkeypatch: pytest.MonkeyPatch) -> None:
    from boundary import addresses, policy

    assert addresses.is_this_machine(ipaddress.ip_address("127.0.0.1"))
    assert not addresses.is_this_machine(ipaddress.ip_address(PUBLIC))
    monkeypatch.setattr(policy, "is_this_machine", lambda address: True)
    with pytest.raises(BlockedUrl) as caught:
        fetch(OutboundRequest(url=f"http://{PUBLIC}/"), Outside(policy=NetworkPolicy(), network=Rerouted()))
    assert caught.value.reason == BlockedReason.OWN_HOST


def test_the_systems_resolver_finds_localhost_and_reports_what_it_cannot_find() -> None:
    found = SystemResolver().resolve("localhost", 80, 5)
    assert set(found) <= {ipaddress.ip_address("127.0.0.1"), ipaddress.ip_address("::1")}
    with pytest.raises(FetchError):
        SystemResolver().resolve("does-not-exist.invalid", 80, 5)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate for secure.example."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "secure.example")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("secure.example")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + signed.public_bytes(serialization.Encoding.PEM))
    return path


@pytest.mark.parametrize("host", ["secure.example", "other.example"])
def test_tls_is_checked_against_the_name_while_the_address_is_pinned(certificate: Path, host: str) -> None:
    asked: list[str] = []
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_side.load_cert_chain(certificate)
    server_side.sni_callback = lambda sock, name, context: asked.append(name or "")

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            reply(self, b"safe")

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    class Server(http.server.ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that refuses the certificate is expected here."""

    with Server(("127.0.0.1", 0), Handler) as server:
        server.socket = server_side.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        outside = Outside(
            policy=NetworkPolicy(),
            resolver=ListedResolver(answers={host: [[PUBLIC]]}),
            network=Rerouted({PUBLIC: server.server_address[1]}),
            tls=ssl.create_default_context(cafile=certificate),
        )
        try:
            if host == "secure.example":
                assert fetch(OutboundRequest(url=f"https://{host}/"), outside).body == b"safe"
            else:
                with pytest.raises(ConnectionFailed):
                    fetch(OutboundRequest(url=f"https://{host}/"), outside)
        finally:
            server.shutdown()
    assert asked == [host]


def test_an_unknown_authority_is_refused(certificate: Path) -> None:
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_side.load_cert_chain(certificate)
    with listen() as listener:

        def once() -> None:
            connection, _ = listener.accept()
            with connection, pytest.raises((ssl.SSLError, ConnectionError)):
                server_side.wrap_socket(connection, server_side=True).recv(1)

        thread = threading.Thread(target=once, daemon=True)
        thread.start()
        outside = Outside(
            policy=NetworkPolicy(),
            resolver=ListedResolver(answers={"secure.example": [[PUBLIC]]}),
            network=Rerouted({PUBLIC: listener.getsockname()[1]}),
        )
        with pytest.raises(ConnectionFailed):
            fetch(OutboundRequest(url="https://secure.example/"), outside)
        thread.join(5)
