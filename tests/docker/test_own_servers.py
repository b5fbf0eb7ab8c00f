"""The role that prepares the database, on a server of the operator's own, in a schema of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from cryptography.fernet import Fernet
from django.core.management import CommandError, call_command

from copilot_project.env import ROOT
from tests.harness import Stack, running_stack
from tests.services import database

__all__ = ["database"]
SECONDS = 300
SCHEMA = "ratchet_one"


@pytest.fixture(scope="module")
def in_schema(database: str) -> str:
    """An address whose options choose a schema, in a database with a table of somebody else."""
    with psycopg.connect(database, autocommit=True) as server:
        server.execute(f'CREATE SCHEMA "{SCHEMA}"')
        server.execute("CREATE TABLE public.theirs (id int)")
    return f"{database}?options=-c%20search_path%3D{SCHEMA}"


@pytest.fixture(scope="module")
def short_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("s")


@pytest.fixture(scope="module")
def stack(in_schema: str, short_home: Path) -> Iterator[Stack]:
    with running_stack(short_home / "h", workers=1, webs=1, database_url=in_schema) as running:
        yield running


@pytest.mark.services
def test_a_schema_is_chosen_by_the_options_of_the_address(stack: Stack, database: str) -> None:
    client = stack.client()
    session = client.new_session()
    turn = client.send(session, {"steps": [{"text": "Here."}]})
    assert client.wait(turn["id"])["end_reason"] == "done"
    with psycopg.connect(database) as server:
        found = server.execute("SELECT table_schema, count(*) FROM information_schema.tables GROUP BY 1")
        tables: dict[str, int] = dict(found.fetchall())
        counted = server.execute(f'SELECT count(*) FROM "{SCHEMA}".chat_turn').fetchone()
    assert tables["public"] == 1 and tables[SCHEMA] > 40
    assert counted == (1,)


@pytest.mark.services
def test_the_role_migrate_prepares_it_and_may_be_repeated(stack: Stack) -> None:
    environment = stack.environment() | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "COPILOT_PRODUCTION": "true",
        "SECRET_KEY": "s" * 60,
        "ENCRYPTION_KEYS": Fernet.generate_key().decode(),
        "COPILOT_TEST_TOOLS": "",
    }
    done = subprocess.run(
        [ROOT / "docker" / "entrypoint", "migrate"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0 and "No migrations to apply" in done.stdout, done.stderr


@pytest.mark.services
def test_a_backup_leaves_out_what_is_in_other_schemas(stack: Stack, short_home: Path) -> None:
    archive = short_home / "backup.tar.gz"
    command = [sys.executable, str(ROOT / "manage.py"), "backup", str(archive)]
    subprocess.run(command, env=stack.environment(), check=True, capture_output=True, timeout=SECONDS)
    subprocess.run(["tar", "-xzf", archive, "-C", short_home], check=True, timeout=SECONDS)
    [dump] = short_home.rglob("*.pgdump")
    listing = subprocess.run(
        ["pg_restore", "--list", dump], capture_output=True, text=True, check=True, timeout=SECONDS
    )
    assert f"TABLE {SCHEMA} chat_turn" in listing.stdout and "theirs" not in listing.stdout


@pytest.mark.django_db
def test_what_does_not_answer_is_named_with_both_ways_to_have_it(
    redis_server: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    from copilot_project.management.commands import wait_for_servers
    from copilot_project.ops.checks.check import broken, well

    monkeypatch.setattr(wait_for_servers, "database", lambda: well("database", "fine"))
    call_command("wait_for_servers", seconds=5)
    away = broken("database", "no route to db.example.com", "Check DATABASE_URL")
    monkeypatch.setattr(wait_for_servers, "database", lambda: away)
    with pytest.raises(
        CommandError, match=r"no route to db.example.com. Check DATABASE_URL.*COMPOSE_PROFILES"
    ):
        call_command("wait_for_servers", seconds=0)
