"""Sign-ins: no address that a server names is trusted, and tokens go to their own server and issuer only."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from accounts.models import User
from connections import client
from connections.errors import ServerMisbehaved, SignInImpossible, SignInNeeded
from connections.models import ServerSignIn, ToolServer
from connections.oauth import sign_ins
from connections.oauth.discovery import discover, fields_of
from connections.servers import NewServer, add_server
from durable.encryption import seal

pytestmark = pytest.mark.django_db
INSIDE = [
    "http://127.0.0.1:6379/",
    "http://localhost./x",
    "http://[::1]/x",
    "http://[::ffff:169.254.169.254]/x",
    "http://2130706433/x",
    "http://0x7f000001/x",
    "http://0177.0.0.1/x",
    "http://127.1/x",
    "http://0.0.0.0/x",
    "http://169.254.169.254/latest/meta-data/",
    "http://metadata.google.internal/x",
    "http://10.0.0.1/x",
    "http://192.168.0.1/x",
    "http://100.64.0.1/x",
    "http://user:secret@example.com/x",
    "file:///etc/passwd",
    "gopher://127.0.0.1/x",
]


class Answers:
    """What the server says at each path; `seen` are the requests that reached it."""

    def __init__(self) -> None:
        self.pages: dict[str, tuple[int, dict[str, str], Any]] = {}
        self.seen: list[tuple[str, str, dict[str, str]]] = []
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def serving(answers: Answers) -> Iterator[None]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            self.rfile.read(length)
            answers.seen.append((self.command, self.path, dict(self.headers)))
            status, headers, body = answers.pages.get(self.path, (404, {}, {}))
            data = json.dumps(body).encode()
            self.send_response(status)
            for name, value in ({"Content-Type": "application/json"} | headers).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_POST = do_GET

        def log_message(self, format: str, *args: object) -> None:
            return None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    answers.port = server.server_port
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def site(settings: Settings) -> Iterator[Answers]:
    answers = Answers()
    with serving(answers):
        settings.BOUNDARY_ALLOWED_HOSTS = settings.BOUNDARY_PLAINTEXT_HOSTS = [f"127.0.0.1:{answers.port}"]
        resource = {"resource": f"{answers.url}/mcp", "authorization_servers": [answers.url]}
        answers.pages["/.well-known/oauth-protected-resource/mcp"] = (200, {}, resource)
        answers.pages["/.well-known/oauth-authorization-server"] = (200, {}, metadata(answers.url))
        yield answers


def metadata(issuer: str, **changes: Any) -> dict[str, Any]:
    return {
        "issuer": issuer,
        "authorization_endpoint": f"{issuer}/authorize",
        "token_endpoint": f"{issuer}/token",
        "registration_endpoint": f"{issuer}/register",
        "code_challenge_methods_supported": ["S256"],
    } | changes


def test_a_sign_in_is_found(site: Answers) -> None:
    found = discover(f"{site.url}/mcp")
    assert (found.issuer, found.token_url) == (site.url, f"{site.url}/token")


@pytest.mark.parametrize("url", INSIDE)
def test_no_address_of_a_sign_in_leads_inside(site: Answers, url: str) -> None:
    """The metadata that a challenge names, the issuer, the token and the registration endpoint."""
    with pytest.raises(SignInImpossible):
        discover(f"{site.url}/mcp", f'Bearer resource_metadata="{url}"')
    resource = {"resource": f"{site.url}/mcp", "authorization_servers": [url]}
    site.pages["/.well-known/oauth-protected-resource/mcp"] = (200, {}, resource)
    with pytest.raises(SignInImpossible):
        discover(f"{site.url}/mcp")
    assert all(path.startswith(("/.well-known", "/mcp")) for _, path, _ in site.seen)


@pytest.mark.parametrize("field", ["token_endpoint", "registration_endpoint", "authorization_endpoint"])
@pytest.mark.parametrize("url", ["javascript:alert(1)", "file:///etc/passwd", "http://2130706433/"])
def test_an_endpoint_that_is_no_address_of_the_web_is_refused(site: Answers, field: str, url: str) -> None:
    site.pages["/.well-known/oauth-authorization-server"] = (200, {}, metadata(site.url, **{field: url}))
    with pytest.raises(SignInImpossible):
        discover(f"{site.url}/mcp")


def test_a_redirect_of_metadata_into_the_network_is_refused(site: Answers) -> None:
    inside = {"Location": "http://169.254.169.254/latest/meta-data/"}
    site.pages["/.well-known/oauth-protected-resource/mcp"] = (302, inside, {})
    with pytest.raises(SignInImpossible):
        discover(f"{site.url}/mcp")


def test_metadata_of_another_resource_issuer_or_without_pkce_is_refused(site: Answers) -> None:
    other = {"resource": "https://bank.example/", "authorization_servers": [site.url]}
    site.pages["/.well-known/oauth-protected-resource/mcp"] = (200, {}, other)
    with pytest.raises(SignInImpossible, match="not its own address"):
        discover(f"{site.url}/mcp")
    own = {"resource": f"{site.url}/mcp", "authorization_servers": [site.url]}
    site.pages["/.well-known/oauth-protected-resource/mcp"] = (200, {}, own)
    place = "/.well-known/oauth-authorization-server"
    site.pages[place] = (200, {}, metadata("https://bank.example"))
    with pytest.raises(SignInImpossible, match="another issuer"):
        discover(f"{site.url}/mcp")
    site.pages[place] = (200, {}, metadata(site.url, code_challenge_methods_supported=["plain"]))
    with pytest.raises(SignInImpossible, match="PKCE"):
        discover(f"{site.url}/mcp")


def test_a_server_that_redirects_is_not_followed_with_its_key(site: Answers, ada: User) -> None:
    site.pages["/mcp"] = (307, {"Location": f"{site.url}/elsewhere"}, {})
    server = add_server(NewServer(url=f"{site.url}/mcp", user=ada, auth="key", key="canary"))
    with pytest.raises(ServerMisbehaved, match="redirects"):
        client.list_tools(server, ada.pk)
    assert [path for _, path, _ in site.seen if path == "/elsewhere"] == []


# --- tokens ---------------------------------------------------------------------------------------


@pytest.fixture
def signed_in(site: Answers, ada: User) -> ServerSignIn:
    server = add_server(NewServer(url=f"{site.url}/mcp", user=ada, auth="sign_in"))
    server.oauth = discover(server.url).as_json() | {"client_id": "us", "auth": "none"}
    server.save()
    return ServerSignIn.objects.create(
        server=server,
        user=ada,
        issuer=site.url,
        resource=f"{site.url}/mcp",
        secret=seal(json.dumps({"access_token": "old", "refresh_token": "again"})),
        expires_at=timezone.now() + timedelta(seconds=30),
    )


def test_a_token_is_renewed_before_it_ends(site: Answers, ada: User, signed_in: ServerSignIn) -> None:
    site.pages["/token"] = (200, {}, {"access_token": "new", "expires_in": 3600})
    server = ToolServer.objects.get()
    assert sign_ins.access_token(server, ada.pk) == "new"
    assert sign_ins.access_token(server, ada.pk) == "new"
    assert [path for _, path, _ in site.seen].count("/token") == 1


def test_a_refused_renewal_uses_the_old_token_to_its_end_and_then_asks_to_sign_in(
    site: Answers, ada: User, signed_in: ServerSignIn
) -> None:
    site.pages["/token"] = (400, {}, {"error": "invalid_grant"})
    server = ToolServer.objects.get()
    assert sign_ins.access_token(server, ada.pk) == "old"
    ServerSignIn.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    with pytest.raises(SignInNeeded, match="expired"):
        sign_ins.access_token(server, ada.pk)


def test_a_token_of_another_person_or_issuer_is_not_used(
    site: Answers, ada: User, bob: User, signed_in: ServerSignIn
) -> None:
    server = ToolServer.objects.get()
    with pytest.raises(SignInNeeded):
        sign_ins.access_token(server, bob.pk)
    server.oauth = server.oauth | {"issuer": "https://evil.example"}
    with pytest.raises(SignInNeeded):
        sign_ins.access_token(server, ada.pk)


def test_a_challenge_is_read_within_bounds() -> None:
    assert fields_of('Bearer realm="x", scope="a b", resource_metadata=https://a/b')["scope"] == "a b"
    assert fields_of('"' * 100_000) == {}
