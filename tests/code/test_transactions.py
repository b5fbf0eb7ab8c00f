"""Every transaction is run again after a deadlock, or is listed here with the reason why it need not be."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from copilot_project.env import ROOT

PACKAGES = (
    "accounts", "blocks", "boundary", "chat", "connections", "copilot_project", "doors", "durable", "executions", "llm",
    "tools", "webhooks", "workspace",
)  # fmt: skip

# Where `transaction.atomic` stands by itself: a file, and as many uses as it has. All others use
# `durable.database.in_transaction`, which starts again when PostgreSQL breaks a deadlock.
ALLOWED = {
    "durable/database.py": 3,  # in_transaction itself; `bounded`, whose rows are one or skipped when locked
    "durable/lease.py": 2,  # Transaction.run is retried by retry_database; save_open locks the job's row alone
    "durable/stream_consumer.py": 1,  # replay: one row, and an entry that must not be sent twice
    "accounts/ledger.py": 2,  # within the caller's transaction: no savepoint of their own
    "chat/follow_ups.py": 1,  # a savepoint within run_due
    "chat/replay.py": 1,  # one row, to read
    "chat/models.py": 1,  # reserve_seqs: one row, within the caller's transaction
    "chat/engine/run.py": 1,  # a savepoint within a commit, which is retried
    "executions/schedules/run_due.py": 1,  # a savepoint within _run_locked
    "executions/triggers/dispatch.py": 1,  # a savepoint within start_delivery
}


def product_files() -> Iterator[Path]:
    for package in PACKAGES:
        for file in (ROOT / package).rglob("*.py"):
            if "migrations" not in file.parts:
                yield file


def atomic_uses(source: str) -> int:
    """Count what opens a transaction without a retry: `transaction.atomic` and `atomic` by itself."""
    return sum(
        (isinstance(node, ast.Attribute) and node.attr == "atomic")
        or (isinstance(node, ast.ImportFrom) and any(name.name == "atomic" for name in node.names))
        for node in ast.walk(ast.parse(source))
    )


def test_no_transaction_can_die_of_a_deadlock() -> None:
    found = {str(file.relative_to(ROOT)): atomic_uses(file.read_text()) for file in product_files()}
    uses = {name: count for name, count in found.items() if count}
    assert uses == ALLOWED, "use durable.database.in_transaction, or list it with the reason"


@pytest.mark.parametrize(
    "source",
    [
        "with transaction.atomic(): ...",
        "@transaction.atomic\ndef f(): ...",
        "from django.db.transaction import atomic",
        "from django.db import transaction as t\nwith t.atomic(using='x'): ...",
    ],
)
def test_every_spelling_is_seen(source: str) -> None:
    assert atomic_uses(source) == 1


def test_what_only_sounds_like_it_is_not() -> None:
    assert atomic_uses("connection.in_atomic_block\natomically()") == 0
