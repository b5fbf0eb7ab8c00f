"""Times that are compared come from the database's clock, so that hosts whose clocks differ agree."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.utils import timezone

from durable import jobs
from durable.clock import current_time, database_now, database_time
from tests.durable.testjobs.models import Chore
from tests.harness import ROOT

COMPARED = {
    "active_at",
    "cancel_requested_at",
    "due_at",
    "lease_until",
    "next_run_at",
    "poked_at",
    "queued_at",
    "run_at",
    "seen_at",
    "superseded_at",
    "wake_at",
}
SHOWN = {"asked_at", "decided_at", "ended_at", "first_word_at", "received_at", "started_at", "told_at"}
PACKAGES = ("chat", "durable", "executions", "tools", "webhooks")
OWN_CLOCK = re.compile(r"\btimezone\.now\b|auto_now_add")
OPERATORS_VIEW = {"durable/admin_jobs.py"}  # says how old things are, decides nothing


@pytest.mark.parametrize("package", PACKAGES)
def test_no_host_writes_or_compares_these_times_by_its_own_clock(package: str) -> None:
    sources = [path for path in (ROOT / package).rglob("*.py") if "migrations" not in path.parts]
    found = [place for path in sources for place in own_clock_in(path)]
    assert found == []


def own_clock_in(path: Path) -> Iterator[str]:
    """Where a compared time is given as a keyword, a key or an attribute with what this host's clock says."""
    name = str(path.relative_to(ROOT))
    if name in OPERATORS_VIEW:
        return
    for node in ast.walk(ast.parse(path.read_text())):
        for column, value in given(node):
            if column.partition("__")[0] in COMPARED | SHOWN and OWN_CLOCK.search(ast.unparse(value)):
                yield f"{name}:{value.lineno} {column}"


def given(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    match node:
        case ast.keyword(arg=str() as column, value=value):
            yield column, value
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key.value, value
        case ast.Assign(targets=[ast.Attribute(attr=column) | ast.Name(id=column)], value=value):
            yield column, value
        case ast.Assign(targets=[ast.Tuple(elts=columns)], value=ast.Tuple(elts=values)):
            for target, value in zip(columns, values, strict=True):
                if isinstance(target, ast.Attribute):
                    yield target.attr, value
        case ast.AnnAssign(target=ast.Name(id=column), value=ast.expr() as value):
            yield column, value


@pytest.mark.django_db
def test_what_is_queued_is_dated_by_the_database(monkeypatch: pytest.MonkeyPatch) -> None:
    if connection.vendor == "sqlite":
        pytest.skip("An embedded database has the clock of its only host.")
    wrong = timezone.now() - timedelta(minutes=10)
    monkeypatch.setattr(timezone, "now", lambda: wrong)
    chore = Chore.objects.create(status="queued")
    assert abs(chore.queued_at - database_now()) < timedelta(minutes=1)
    assert Chore.objects.get(pk=chore.pk).queued_at == chore.queued_at


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("redis_server")
def test_what_people_are_shown_is_dated_by_the_database_as_the_last_claim_heard_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if connection.vendor == "sqlite":
        assert abs(current_time() - timezone.now()) < timedelta(minutes=1)
        pytest.skip("An embedded database has the clock of its only host.")
    wrong = timezone.now() - timedelta(minutes=10)
    monkeypatch.setattr(timezone, "now", lambda: wrong)
    database_time._forget()
    assert current_time() == wrong, "nothing has been heard yet"
    chore = Chore.objects.create(status="queued")
    assert jobs.claim(Chore, chore.pk, owner="worker") is not None
    assert abs(current_time() - database_now()) < timedelta(minutes=1)
