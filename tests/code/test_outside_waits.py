"""Outside libraries are used in few modules, each of which gives its database connection back before it waits."""

from __future__ import annotations

import ast
import contextlib
import functools
import socket
from typing import Any

import pytest

from accounts.models import User
from copilot_project.env import ROOT
from durable.database import outside_wait
from tests.outside_waits import PACKAGES, violations

LIBRARIES = {
    "aiohttp", "boto3", "botocore", "ftplib", "http.client", "httpcore", "httpx", "httpx2", "imaplib",
    "multiprocessing", "openai", "paramiko", "poplib", "psycopg", "requests", "smtplib", "socket",
    "socketserver", "ssl", "storages", "subprocess", "telnetlib", "urllib.request", "urllib3",
    "websocket", "websockets", "xmlrpc",
}  # fmt: skip
WAITING = frozenset(
    [
        "boundary/http.py",
        "boundary/parser_process.py",
        "boundary/addresses.py",
        "boundary/sandbox/workdirs.py",
        "boundary/sandbox/process.py",
        "blocks/adapters/databases.py",
        "blocks/adapters/mail.py",
        "blocks/script_process.py",
    ]
)
REACHED_THROUGH_THEM = {
    "boundary/pinned_connections.py": "boundary.http",
    "boundary/parsers/server.py": "the other end of boundary.parser_process, a process of its own",
    "blocks/adapters/guarded_requests.py": "the port for HTTP, that is boundary.http",
    "blocks/adapters/network.py": "says how TLS is checked, connects to nobody",
    "llm/model_call.py": "llm.client, on the background loop",
    "llm/transport.py": "llm.client, on the background loop",
    "workspace/virus_scanner.py": "workspace.blobs, which waits for storage and scanner together",
    "llm/offline/server.py": "a server for tests and for machines without a model",
    "llm/management/commands/offline_model.py": "starts that server, on a socket that is open already",
}
THREADS_TO_LOOP = frozenset({"llm/client.py", "llm/transport.py"})


@functools.cache
def sources() -> dict[str, str]:
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    return {path.relative_to(ROOT).as_posix(): path.read_text() for path in files}


def imported(source: str) -> set[str]:
    """The outside libraries a module imports, lazily or not; `from http import client` counts as `http.client`."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in LIBRARIES if any(f"{found}.".startswith(f"{name}.") for found in names)}


def test_outside_libraries_are_imported_only_where_the_wait_is_declared() -> None:
    found = {path: imported(source) for path, source in sources().items()}
    users = {path for path, libraries in found.items() if libraries}
    strangers = {path: found[path] for path in users - WAITING - REACHED_THROUGH_THEM.keys()}
    assert strangers == {}, "reach outside through boundary or llm, which give the database connection back"
    assert WAITING | REACHED_THROUGH_THEM.keys() <= users, "take it off the list"


@pytest.mark.parametrize("path", sorted(WAITING | {"llm/client.py", "workspace/blobs.py"}))
def test_a_module_that_reaches_outside_declares_its_waits(path: str) -> None:
    assert "outside_wait()" in sources()[path]


def test_only_the_model_client_waits_for_the_background_loop() -> None:
    users = {path for path, source in sources().items() if "run_coroutine_threadsafe" in source}
    assert users == THREADS_TO_LOOP


@pytest.mark.django_db
def test_product_code_that_reaches_outside_with_a_connection_in_hand_is_noticed() -> None:
    """The check of every test, checked: as if a block connected by itself after a query."""
    code = "reach = lambda socket: socket.connect_ex(('127.0.0.1', 1))"
    names: dict[str, Any] = {}
    exec(compile(code, str(ROOT / "blocks" / "catalog" / "new.py"), "exec"), names)
    User.objects.count()
    try:
        for wait in (contextlib.nullcontext(), outside_wait()):
            with socket.socket() as connecting, wait:
                names["reach"](connecting)
        assert violations == ["socket.connect at blocks/catalog/new.py:1 on MainThread"]
    finally:
        violations.clear()
