"""The cost of sweep, POST, claim, end and list in a system full of history, compared with an empty one."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.conf import settings
from django.core.management import call_command
from django.db import connection, connections
from django.test import Client

from accounts.api_keys import create_api_key
from accounts.models import User
from benchmarks.conversations import OWNER, new_session
from benchmarks.history import fill
from benchmarks.side_by_side import Report, Series, Size, ratio_at_most
from chat.models import Turn
from durable import jobs
from durable.lease import Lease
from durable.models import Job
from executions.models import Execution
from tests.harness import Stack
from tools.models import Operation
from webhooks.models import WebhookDelivery

TITLE = "wall time of single pieces of work beside 20 sweepers, as history grows"
KINDS: tuple[type[Job], ...] = (Turn, Execution, Operation, WebhookDelivery)
SWEEPERS = 20
LIVE = 50  # turns at work in either system
PIECES = ("sweep", "POST", "claim", "end", "list")


def run(stack: Stack, size: Size, report: Report) -> None:
    turns = size.pick(2_000, 50_000, 1_000_000)
    rounds = size.pick(2, 10, 20)
    with two_databases() as (empty, full):
        people = {}
        for name, history in ((empty, 0), (full, turns)):
            use(name)
            people[name] = User.objects.create(username="ada")
            fill(people[name], turns=history, executions=history // 2, own=history // 10, live=LIVE)
        found = compare({name: person.pk for name, person in people.items()}, rounds, size.repetitions)
    for piece in PIECES:
        report.add(piece, "ms", found[full][piece], found[empty][piece], ratio_at_most(1.5))
    report.remark(
        f"{connection.vendor}; ours: {turns:,} turns, {turns // 2:,} executions, {turns // 10:,} turns of the person "
        f"asking; baseline: none of these; both: {LIVE} turns at work, {SWEEPERS} sweepers"
    )


# --- measuring --------------------------------------------------------------------------------------


def compare(people: dict[str, int], rounds: int, repetitions: int) -> dict[str, dict[str, Series]]:
    """Measure both databases in turn; return the median of each repetition."""
    spans: dict[str, dict[str, list[float]]] = {name: {piece: [] for piece in PIECES} for name in people}
    for repetition in range(repetitions + 1):
        for name, person_id in people.items():
            use(name)
            with sweepers():
                measured = pieces_of(User.objects.get(pk=person_id), rounds)
            if repetition:  # the first fills the caches
                for piece, values in measured.items():
                    spans[name][piece].append(Series.of(values).median)
    return {
        name: {piece: Series.of(values) for piece, values in by_piece.items()}
        for name, by_piece in spans.items()
    }


def pieces_of(person: User, rounds: int) -> dict[str, list[float]]:
    """Return milliseconds of each part per round: a message from POST to its end, then a sweep and a list."""
    client = Client(
        SERVER_NAME="127.0.0.1", headers={"Authorization": f"Bearer {create_api_key(person, 'bench')}"}
    )
    spans: dict[str, list[float]] = {piece: [] for piece in PIECES}

    def timed(piece: str, work: Callable[[], object]) -> None:
        started = time.perf_counter()
        work()
        spans[piece].append((time.perf_counter() - started) * 1000)

    for _ in range(rounds):
        message = Message(client, new_session(person).pk)
        timed("POST", message.post)
        timed("claim", message.claim)
        timed("end", message.end)
        timed("sweep", lambda: [jobs.sweep(model) for model in KINDS])
        timed("list", lambda: client.get("/api/sessions"))
    return spans


class Message:
    """One message of one conversation, taken through its life cycle by hand."""

    def __init__(self, client: Client, session_id: uuid.UUID) -> None:
        self.client = client
        self.session_id = session_id
        self.turn_id: uuid.UUID | None = None
        self.lease: Lease | None = None

    def post(self) -> None:
        body = json.dumps({"message": "hello there", "client_id": uuid.uuid4().hex})
        answer = self.client.post(
            f"/api/sessions/{self.session_id}/turns", body, content_type="application/json"
        )
        assert answer.status_code == 202, answer.content
        self.turn_id = uuid.UUID(answer.json()["turn"]["id"])

    def claim(self) -> None:
        assert self.turn_id is not None
        self.lease = jobs.claim(Turn, self.turn_id, owner=OWNER)
        assert self.lease is not None

    def end(self) -> None:
        assert self.lease is not None
        self.lease.finish(Turn.COMPLETED, reason="done")


@contextmanager
def sweepers() -> Iterator[None]:
    """Run threads that sweep as twenty workers would."""
    stop = threading.Event()

    def sweep() -> None:
        while not stop.wait(float(settings.COPILOT_SWEEP_SECONDS)):
            for model in KINDS:
                jobs.sweep(model)
        connections.close_all()

    threads = [threading.Thread(target=sweep, daemon=True) for _ in range(SWEEPERS)]
    for thread in threads:
        thread.start()
        time.sleep(float(settings.COPILOT_SWEEP_SECONDS) / SWEEPERS)  # spread over the second
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


# --- two databases ----------------------------------------------------------------------------------


@contextmanager
def two_databases() -> Iterator[tuple[str, str]]:
    """Create an empty database and one to fill next to the given one, and drop them afterwards."""
    given = str(connection.settings_dict["NAME"])
    names = [f"{given}_{kind}_{uuid.uuid4().hex[:8]}" for kind in ("empty", "full")]
    try:
        for name in names:
            create(name)
            use(name)
            call_command("migrate", verbosity=0)
            use(given)
        yield names[0], names[1]
    finally:
        use(given)
        for name in names:
            drop(name)


def create(name: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            f'CREATE DATABASE "{name}"' if connection.vendor == "postgresql" else f"VACUUM INTO '{name}'"
        )


def drop(name: str) -> None:
    if connection.vendor == "postgresql":  # a file is gone with the home it stands in
        with connection.cursor() as cursor:
            cursor.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


def use(name: str) -> None:
    """Point new connections of this process at that database."""
    connections.close_all()
    if hasattr(connection, "close_pool"):
        connection.close_pool()
    connections.settings["default"]["NAME"] = name
