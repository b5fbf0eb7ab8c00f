"""What a server that asks for the password of a database login gets: nothing, unless it is the right one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from blocks.adapters.databases import OutsideDatabases
from blocks.adapters.network import NetworkAccess
from blocks.ports import DatabaseQuery, PortError
from boundary.policy import AllowList, NetworkPolicy
from durable.stop_signal import StopSignal
from tests.blocks.adapters.certificates import Certificate, make_certificate
from tests.blocks.adapters.conftest import Cluster
from tests.blocks.adapters.hostile_postgres import HostilePostgres, serve_postgres
from tests.boundary.servers import ListedResolver

NAME = "db.example.com"
CANARY = "canary-password"
Start = Callable[..., HostilePostgres]


def query(port: int, **changes: Any) -> DatabaseQuery:
    facts: dict[str, Any] = {
        "kind": "postgres",
        "host": NAME,
        "port": port,
        "database": "shop",
        "username": "reader",
        "password": CANARY,
        "query": "SELECT 1 AS one",
        "read_only": True,
        "timeout_seconds": 5.0,
        "max_rows": 10,
    }
    return DatabaseQuery(**(facts | changes))


def databases(port: int, *, plaintext: bool = False) -> OutsideDatabases:
    """The name leads to this machine, which the operator allows; a second look-up would lead elsewhere."""
    here = AllowList.of([f"{NAME}:{port}"])
    policy = NetworkPolicy(allowed=here, plaintext=here if plaintext else AllowList())
    return OutsideDatabases(
        NetworkAccess(policy=policy, resolver=ListedResolver(answers={NAME: [["127.0.0.1"]]}))
    )


@pytest.fixture
def certificate() -> Certificate:
    return make_certificate(NAME)


@pytest.fixture
def start() -> Iterator[Start]:
    with ExitStack() as running:
        yield lambda **facts: running.enter_context(serve_postgres(HostilePostgres(**facts)))


def test_a_server_without_tls_hears_no_user_and_no_password(start: Start) -> None:
    server = start()
    with pytest.raises(PortError, match=r"does not support SSL.*over TLS only"):
        databases(server.port).run(query(server.port), StopSignal())
    assert server.received == b""


@pytest.mark.parametrize("asks", ["clear", "md5", "nothing", "gss"])
def test_a_server_that_asks_for_anything_but_scram_gets_no_password(
    start: Start, certificate: Certificate, tmp_path: Path, asks: str
) -> None:
    server = start(asks=asks, tls=certificate.server_context(tmp_path))
    wanted = query(server.port, ca_certificate=certificate.text)
    with pytest.raises(PortError, match=r"authentication method requirement.*Only SCRAM logins"):
        databases(server.port).run(wanted, StopSignal())
    assert server.encrypted == [True]
    assert b"reader" in server.received and b"canary" not in server.received
    assert server.told == b""


@pytest.mark.parametrize("asks", ["clear", "md5"])
def test_a_password_is_not_sent_in_clear_where_the_operator_allows_no_tls(start: Start, asks: str) -> None:
    server = start(asks=asks)
    with pytest.raises(PortError, match="authentication method requirement"):
        databases(server.port, plaintext=True).run(query(server.port), StopSignal())
    assert b"canary" not in server.received and server.told == b""


def test_a_certificate_nobody_vouches_for_is_refused_before_the_user_is_named(
    start: Start, certificate: Certificate, tmp_path: Path
) -> None:
    server = start(tls=certificate.server_context(tmp_path))
    with pytest.raises(PortError, match=r"certificate verify failed.*add your authority's certificate"):
        databases(server.port).run(query(server.port), StopSignal())
    assert server.received == b""


def test_a_certificate_of_another_host_is_refused(start: Start, tmp_path: Path) -> None:
    other = make_certificate("other.example.com")
    server = start(tls=other.server_context(tmp_path))
    with pytest.raises(PortError, match="does not match host name"):
        databases(server.port).run(query(server.port, ca_certificate=other.text), StopSignal())
    assert server.received == b""


def test_the_environment_of_the_process_changes_nothing(
    start: Start, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    passwords = tmp_path / "pgpass"
    passwords.write_text(f"*:*:*:*:{CANARY}-of-the-site")
    passwords.chmod(0o600)
    for name, value in {
        "PGSSLMODE": "disable",
        "PGREQUIREAUTH": "password",
        "PGPASSWORD": f"{CANARY}-of-the-site",
        "PGPASSFILE": str(passwords),
        "PGHOSTADDR": "127.0.0.2",
        "PGOPTIONS": "-c role=owner",
    }.items():
        monkeypatch.setenv(name, value)
    server = start()
    for password in (CANARY, ""):
        with pytest.raises(PortError, match="does not support SSL"):
            databases(server.port).run(query(server.port, password=password), StopSignal())
    with pytest.raises(PortError):
        databases(server.port, plaintext=True).run(query(server.port, password=""), StopSignal())
    assert b"canary" not in server.received and b"owner" not in server.received


# --- a real server ------------------------------------------------------------------------------


def test_the_right_server_answers_over_tls_and_scram(postgres: Cluster) -> None:
    wanted = query(
        postgres.port,
        database="postgres",
        username=postgres.user,
        password=postgres.password,
        ca_certificate=postgres.ca_certificate,
        query="SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()",
    )
    assert databases(postgres.port).run(wanted, StopSignal()).rows == ({"ssl": True},)


def test_the_operator_can_allow_a_server_of_their_own_without_tls(postgres: Cluster) -> None:
    wanted = query(
        postgres.port,
        database="postgres",
        username=postgres.user,
        password=postgres.password,
        query="SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()",
    )
    assert databases(postgres.port, plaintext=True).run(wanted, StopSignal()).rows == ({"ssl": False},)
