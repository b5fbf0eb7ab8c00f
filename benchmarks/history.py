"""Fill a database with ended work, by copying one row of each kind many times."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.db import connection
from django.utils import timezone

from accounts.models import User
from benchmarks.conversations import new_session
from chat.models import Session, Turn
from durable.models import Job
from executions.models import Agent, AgentVersion, Execution

PEOPLE = 1_000
SESSIONS_EACH = 10
PLAIN_INDEXES = """
    SELECT c.relname, pg_get_indexdef(c.oid) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE i.indrelid = %s::regclass AND NOT i.indisunique
"""
TURNS_PER_SESSION = 100  # of the user with a long history


def fill(person: User, *, turns: int, executions: int, own: int, live: int) -> None:
    """Insert this many ended turns, of which `own` belong to this user, and executions, and some live turns."""
    work_now(live)
    if turns:
        others = sessions_of(crowd(), SESSIONS_EACH)
        with in_bulk(Turn):
            copy_turns(turns - own, others)
            copy_turns(own, sessions_of([person], max(1, own // TURNS_PER_SESSION)))
        with in_bulk(Execution):
            copy_executions(executions, others)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE")


@contextmanager
def in_bulk(model: type[Job]) -> Iterator[None]:
    """Fill a PostgreSQL table without plain indexes and statement timeout, in a third of the time."""
    if connection.vendor != "postgresql":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
        cursor.execute(PLAIN_INDEXES, [model._meta.db_table])
        indexes = cursor.fetchall()
        for name, _ in indexes:
            cursor.execute(f'DROP INDEX "{name}"')
        yield
        for _, definition in indexes:
            cursor.execute(definition)


def work_now(count: int) -> None:
    """Insert turns that a worker holds, and queued ones."""
    lease = {"owner": "elsewhere", "lease_until": timezone.now() + timedelta(days=1)}
    for number in range(count):
        user = User.objects.create(username=f"at-work-{number}")
        values = {"status": Turn.RUNNING, "attempt": 1, **lease} if number % 2 else {"status": Turn.QUEUED}
        Turn.objects.create(session=new_session(user), user=user, **values)


def crowd() -> list[User]:
    User.objects.bulk_create(User(username=f"person-{number}") for number in range(PEOPLE))
    return list(User.objects.filter(username__startswith="person-"))


def sessions_of(people: list[User], each: int) -> list[Session]:
    made = [Session(user=user, title="bench") for user in people for _ in range(each)]
    return Session.objects.bulk_create(made, batch_size=1_000)


def copy_turns(count: int, sessions: list[Session]) -> None:
    first = Turn.objects.create(session=sessions[0], user=sessions[0].user, **ended(Turn))
    copy(first, count - 1, sessions, answer_id=fresh_id(), session_id="p.session_id", user_id="p.user_id")


def copy_executions(count: int, sessions: list[Session]) -> None:
    user = sessions[0].user
    assert user is not None
    agent = Agent.objects.create(user=user, name="bench", latest_version=1)
    AgentVersion.objects.create(agent=agent, version=1, graph={"nodes": [], "links": []})
    first = Execution.objects.create(user=user, agent=agent, version=1, **ended(Execution))
    copy(first, count - 1, sessions, session_id="p.session_id", user_id="p.user_id")


def ended(model: type[Turn] | type[Execution]) -> dict[str, object]:
    now = timezone.now()
    return {"status": model.COMPLETED, "end_reason": "done", "attempt": 1, "started_at": now, "ended_at": now}


def copy(first: Job, count: int, sessions: list[Session], **changed: str) -> None:
    """Insert copies of one row, spread over the sessions and over the past year."""
    table = first._meta.db_table
    changed |= {"id": fresh_id()} | {name: past() for name in ("queued_at", "started_at", "ended_at")}
    columns = [str(field.column) for field in first._meta.local_concrete_fields]
    values = ", ".join(changed.get(name, f't."{name}"') for name in columns)
    names = ", ".join(f'"{name}"' for name in columns)
    with connection.cursor() as cursor:
        place_table(sessions)
        cursor.execute(
            f"INSERT INTO {table} ({names}) {numbers(count)} SELECT {values} FROM s"
            f" JOIN bench_places p ON p.n = s.n %% {len(sessions)} JOIN {table} t ON t.id = %s",
            [first.pk if connection.vendor == "postgresql" else first.pk.hex],
        )


def place_table(sessions: list[Session]) -> None:
    """Create a temporary table that maps the n-th copy to its session and user."""
    kind = "uuid" if connection.vendor == "postgresql" else "char(32)"
    rows = [
        (n, session.pk if kind == "uuid" else session.pk.hex, session.user_id)
        for n, session in enumerate(sessions)
    ]
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS bench_places")
        cursor.execute(
            f"CREATE TEMPORARY TABLE bench_places (n integer primary key, session_id {kind}, user_id bigint)"
        )
        cursor.executemany("INSERT INTO bench_places VALUES (%s, %s, %s)", rows)


def numbers(count: int) -> str:
    if connection.vendor == "postgresql":
        return f"WITH s AS (SELECT n FROM generate_series(1, {count}) AS g(n))"
    return f"WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {count})"


def fresh_id() -> str:
    return "gen_random_uuid()" if connection.vendor == "postgresql" else "lower(hex(randomblob(16)))"


def past() -> str:
    if connection.vendor == "postgresql":
        return "now() - (s.n % 31536000) * interval '1 second' - interval '1 day'".replace("%", "%%")
    return "datetime('now', '-' || (s.n %% 31536000 + 86400) || ' seconds')"
