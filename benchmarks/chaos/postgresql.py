"""Faults of PostgreSQL: F18 full disk, F26 restart and failover, F27 locked row, F31 restored backup."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
from django.db import connection

from benchmarks.chaos.deployment import (
    paused_jobs,
    production,
    takeovers,
)
from benchmarks.chaos.field import Field
from benchmarks.chaos.invariants import Recorded
from benchmarks.chaos.scenario import scenario
from chat.models import Turn
from durable import pauses
from tests.harness import ROOT, Client, Reader, eventually


def no_small_disk() -> str:
    return "" if os.getuid() == 0 else "a full disk needs a file system of its own, so root"


@scenario("F18", "the database's disk is full", on_production=True, why_not=no_small_disk)
def disk_full(field: Field) -> None:
    stack = production(field)
    for _ in range(field.pick(1, 3)):
        with field.load():
            time.sleep(2)
            field.struck(field.running())
            with full(stack.postgres.folder):
                time.sleep(field.pick(5, 10))
            if stack.postgres.process is not None and stack.postgres.process.poll() is not None:
                stack.postgres.start()
            connection.close()
    field.notes["refused POSTs"] = len(field.refusals)


@contextmanager
def full(folder: Path) -> Iterator[None]:
    """Fill the disk completely."""
    filler = folder / "filler"
    try:
        with suppress(OSError), filler.open("wb", buffering=0) as file:
            while True:
                file.write(b"\0" * 65_536)
        yield
    finally:
        filler.unlink(missing_ok=True)


@scenario("F26", "PostgreSQL: restarted, then replaced by its standby", short=True, on_production=True)
def database_restarts(field: Field) -> None:
    stack = production(field)
    with field.load():
        for _ in range(field.pick(1, 5)):
            time.sleep(2)
            field.struck(field.running())
            stack.postgres.stop()
            time.sleep(random.uniform(0.2, 3))
            stack.postgres.start()
            connection.close()
        time.sleep(2)
        stack.fail_over()
        connection.close()
        time.sleep(2)
    field.notes["refused POSTs"] = len(field.refusals)


@scenario("F27", "PostgreSQL: one row is locked for 30 s", short=True, on_production=True)
def locked_row(field: Field) -> None:
    """Lock a row: only its turn may wait, and the leases of all others are renewed."""
    stack, gate = production(field), uuid.uuid4().hex
    before = takeovers()
    slow = field.send([{"chunks": 20, "gate": gate, "gate_at": 5}])
    assert slow is not None
    eventually(
        lambda: Turn.objects.filter(pk=slow.turn_id, status=Turn.RUNNING).exists(), what="a running turn"
    )
    with field.load(), psycopg.connect(stack.database_url) as other:
        other.execute("SELECT 1 FROM chat_turn WHERE id = %s FOR UPDATE", [slow.turn_id])
        time.sleep(field.pick(10, 30))
        other.rollback()
        stack.release(gate)
    others = Turn.objects.filter(attempt__gt=1).exclude(pk=slow.turn_id).count()
    if others > before:
        field.wrong.append(f"{others - before} other turns lost their lease")


# An effect that came after the backup is forgotten with it and happens again, so these have none.
WITHOUT_EFFECTS: list[dict[str, Any]] = [
    {
        "chunks": 60,
        "delay": 0.05,
        "tool_calls": [{"name": "test_pure", "arguments": {"value": "x"}, "id": "call"}],
    },
    {"chunks": 60, "delay": 0.05},
]


@scenario("F31", "a backup is restored under a live Redis")
def restored_backup(field: Field) -> None:
    """Restore a backup: its turns end as their rows say, whatever Redis holds of the time after it."""
    archive = field.stack.home / f"backup-{uuid.uuid4().hex[:6]}.tar.gz"
    client = field.stack.client()
    for _ in range(field.pick(6, 30)):
        field.send(WITHOUT_EFFECTS, watch=False)
    with paused_jobs("queue", Turn.queue):
        for _ in range(field.pick(4, 20)):
            field.send(WITHOUT_EFFECTS, watch=False)
        manage(field, "backup", str(archive))
    field.settle()
    for name in [name for name in field.stack.processes if name.startswith(("web", "worker"))]:
        field.stack.kill(name)
    connection.close()
    manage(field, "restore", "--replace", str(archive))
    archive.unlink()
    (field.stack.home / "effects.txt").unlink(missing_ok=True)  # what happened after the backup is gone
    pauses.resume("queue", Turn.queue)  # the backup contains the pause
    kept = set(Turn.objects.values_list("pk", flat=True))
    field.recorded[:] = [one for one in field.recorded if one.turn_id in kept]
    field.notes["running in the backup"] = field.open_turns()
    field.revive()
    for one in field.recorded:
        one.reader = Reader(Client(client.url, owner_key(field, one)), str(one.turn_id))
        one.reader.read_to_end()
    field.settle()


def owner_key(field: Field, one: Recorded) -> str:
    user = Turn.objects.get(pk=one.turn_id).user
    assert user is not None
    return field.stack.keys[user.username]


def manage(field: Field, *words: str) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=ROOT,
        env=field.stack.environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
