"""Whatever server a block call or an agent names, a secret leaves only for the one its owner bound it to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from accounts.models import User
from executions.models import Execution, Review, StoredCredential
from tests.blocks.adapters.hostile_postgres import HostilePostgres, serve_postgres
from tests.boundary.servers import LocalServer, Received, reply, serve
from tests.executions.conftest import work_on
from tests.executions.engine.graphs import registry
from tests.executions.people import logged_in

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("block_worker")]
CANARY = "canary-password"


@pytest.fixture
def ann(user: User) -> Client:
    return logged_in(user)


@pytest.fixture
def thief(settings: Settings) -> Iterator[HostilePostgres]:
    """A server that asks for the password; the operator lets people reach it, even without TLS."""
    with serve_postgres(HostilePostgres()) as server:
        settings.BOUNDARY_ALLOWED_HOSTS = [f"127.0.0.1:{server.port}"]
        settings.BOUNDARY_PLAINTEXT_HOSTS = settings.BOUNDARY_ALLOWED_HOSTS
        yield server


def keep(client: Client, **facts: Any) -> str:
    login = {"provider": "database", "kind": "user_password", "username": "reader", "password": CANARY}
    answer = client.post(
        "/api/credentials", login | {"title": "Shop"} | facts, content_type="application/json"
    )
    assert answer.status_code == 201, answer.json()
    return str(answer.json()["id"])


def keep_unbound(client: Client) -> str:
    """A login from before logins had a server."""
    kept = keep(client, host="db.example.com")
    StoredCredential.objects.filter(pk=kept).update(host="", port=None)
    return kept


def execute(client: Client, block: str, inputs: dict[str, Any], client_id: str = "one") -> Any:
    body = {"inputs": inputs, "client_id": client_id}
    return client.post(
        f"/api/blocks/{registry().get_by_name(block).id}/execute", body, content_type="application/json"
    ).json()


def sql(server: HostilePostgres, credentials_id: str = "") -> dict[str, Any]:
    asked = {"host": "127.0.0.1", "port": server.port, "database": "shop", "query": "SELECT 1"}
    return asked | ({"credentials": {"id": credentials_id}} if credentials_id else {})


def decide(client: Client, review_id: object, **said: Any) -> None:
    answer = client.post(f"/api/reviews/{review_id}/decide", said, content_type="application/json")
    assert answer.status_code == 200


def test_a_caller_that_names_a_server_gets_no_login_bound_to_another(
    ann: Client, thief: HostilePostgres
) -> None:
    kept = keep(ann, host="db.example.com")
    for number, chosen in enumerate(["", kept]):
        answer = execute(ann, "SQL Query", sql(thief, chosen), client_id=str(number))
        assert answer["status"] == "failed"
        assert "add a " in answer["error"] and "for that server under credentials" in answer["error"]
    assert thief.startup == b"" and not Review.objects.exists()


def test_a_login_without_a_server_that_nobody_chose_is_not_even_asked_about(
    ann: Client, thief: HostilePostgres
) -> None:
    keep_unbound(ann)
    answer = execute(ann, "SQL Query", sql(thief))
    assert "Shop is not bound to a server yet" in answer["error"] and "Open credentials" in answer["error"]
    assert thief.startup == b"" and not Review.objects.exists()


def test_a_chosen_login_without_a_server_waits_for_its_owner_and_is_bound_by_the_approval(
    ann: Client, thief: HostilePostgres
) -> None:
    kept = keep_unbound(ann)
    asked = execute(ann, "SQL Query", sql(thief, kept))
    assert asked["status"] == "review" and thief.startup == b""
    shown = ann.get(f"/api/reviews/{asked['review_id']}").json()
    assert shown["name"] == f"Send Shop to 127.0.0.1:{thief.port}?"
    assert (shown["editable"], shown["data"]["host"], shown["data"]["port"]) == (
        False,
        "127.0.0.1",
        thief.port,
    )
    assert CANARY not in str(shown)
    decide(ann, asked["review_id"], approved=True)
    assert "Only SCRAM logins" in execute(ann, "SQL Query", sql(thief, kept))["error"]  # it was tried there
    assert b"reader" in thief.received and thief.told == b""
    row = StoredCredential.objects.get(pk=kept)
    assert (row.host, row.port) == ("127.0.0.1", thief.port)


def test_a_rejected_question_binds_nothing(ann: Client, thief: HostilePostgres) -> None:
    kept = keep_unbound(ann)
    asked = execute(ann, "SQL Query", sql(thief, kept))
    decide(ann, asked["review_id"], approved=False, message="Not mine.")
    answer = execute(ann, "SQL Query", sql(thief, kept))
    assert "was not approved" in answer["error"] and "Not mine." in answer["error"]
    assert thief.startup == b"" and StoredCredential.objects.get(pk=kept).host == ""


def test_an_approval_is_worth_nothing_when_the_login_was_bound_elsewhere_meanwhile(
    ann: Client, thief: HostilePostgres
) -> None:
    kept = keep_unbound(ann)
    asked = execute(ann, "SQL Query", sql(thief, kept))
    ann.patch(f"/api/credentials/{kept}", {"host": "db.example.com"}, content_type="application/json")
    decide(ann, asked["review_id"], approved=True)
    assert "is bound to another server" in execute(ann, "SQL Query", sql(thief, kept))["error"]
    assert thief.startup == b"" and StoredCredential.objects.get(pk=kept).host == "db.example.com"


@pytest.mark.parametrize("safe_mode", [True, False])
def test_an_agent_waits_for_the_owner_too_and_goes_on_after_it(
    ann: Client, thief: HostilePostgres, execution_of: Callable[..., Execution], safe_mode: bool
) -> None:
    kept = keep_unbound(ann)
    execution = execution_of({"ask": ("SQL Query", sql(thief, kept))}, safe_mode=safe_mode)
    assert work_on(execution).public_status == "REVIEW"
    assert thief.startup == b""
    decide(ann, Review.objects.get().pk, approved=True)
    work_on(execution)
    assert b"reader" in thief.received and thief.told == b""
    assert StoredCredential.objects.get(pk=kept).port == thief.port


# --- headers ------------------------------------------------------------------------------------


@pytest.fixture
def servers(settings: Settings) -> Iterator[tuple[LocalServer, LocalServer]]:
    """Two servers; the first sends whoever asks for /elsewhere/NAME to that name at the second."""

    def first(handler: BaseHTTPRequestHandler, received: Received) -> None:
        name = received.path.removeprefix("/elsewhere/")
        if name == received.path:
            reply(handler, b"here")
        else:
            place = "/here" if name == "self" else f"http://{name}:{other.port}/there"
            reply(handler, status=307, headers=[("location", place)])

    with serve(lambda handler, received: reply(handler, b"there")) as other, serve(first) as one:
        reached = [f"{name}:{port}" for name in ("127.0.0.1", "localhost") for port in (one.port, other.port)]
        settings.BOUNDARY_ALLOWED_HOSTS = reached
        settings.BOUNDARY_PLAINTEXT_HOSTS = reached
        yield one, other


def keep_header(client: Client, server: LocalServer) -> None:
    kept: dict[str, Any] = {"provider": "http", "kind": "host_scoped", "host": "127.0.0.1"}
    kept |= {"port": server.port, "headers": {"Authorization": CANARY, "X-Key": CANARY}}
    assert client.post("/api/credentials", kept, content_type="application/json").status_code == 201


def ask_web(client: Client, url: str) -> Any:
    return execute(client, "Send Authenticated Web Request", {"url": url}, client_id=url)


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_kept_headers_do_not_follow_a_redirect_to_another_port_or_host(
    ann: Client, servers: tuple[LocalServer, LocalServer], name: str
) -> None:
    one, other = servers
    keep_header(ann, one)
    assert ask_web(ann, one.url(f"/elsewhere/{name}"))["outputs"] == {"response": ["there"]}
    assert one.received[0].headers["authorization"] == CANARY
    assert CANARY not in str(other.received) and len(other.received) == 1


def test_kept_headers_follow_a_redirect_on_their_own_server(
    ann: Client, servers: tuple[LocalServer, LocalServer]
) -> None:
    one, _ = servers
    keep_header(ann, one)
    assert ask_web(ann, one.url("/elsewhere/self"))["outputs"] == {"response": ["here"]}
    assert [received.headers["x-key"] for received in one.received] == [CANARY, CANARY]


def test_kept_headers_are_not_sent_over_plain_http(
    ann: Client, servers: tuple[LocalServer, LocalServer], settings: Settings
) -> None:
    one, other = servers
    keep_header(ann, one)
    assert ask_web(ann, other.url("/"))["status"] == "completed"  # nothing is kept for that port
    assert CANARY not in str(other.received)
    settings.BOUNDARY_PLAINTEXT_HOSTS = []
    answer = ask_web(ann, one.url("/"))
    assert answer["status"] == "failed" and "over https" in answer["error"]
    assert one.received == []


def test_a_token_without_a_server_does_not_leave_for_an_mcp_server_that_an_agent_names(
    ann: Client, servers: tuple[LocalServer, LocalServer]
) -> None:
    one, _ = servers
    key = {"provider": "mcp", "kind": "api_key", "api_key": CANARY}
    kept = ann.post("/api/credentials", key, content_type="application/json").json()["id"]
    inputs = {"server_url": one.url("/mcp"), "selected_tool": "x"}
    execute(ann, "MCP Tool", inputs, client_id="without")
    assert CANARY not in str(one.received)
    asked = execute(ann, "MCP Tool", inputs | {"credentials": {"id": kept}}, client_id="with")
    assert asked["status"] == "review" and CANARY not in str(one.received)
