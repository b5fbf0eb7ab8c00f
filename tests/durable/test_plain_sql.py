"""Plain statements do what the ORM's do."""

from __future__ import annotations

import uuid
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db.models import F
from django.utils import timezone

from accounts.models import LedgerEntry, User
from chat.models import Session, Turn
from durable import plain_sql

pytestmark = pytest.mark.django_db


def entry(key: str) -> LedgerEntry:
    return LedgerEntry(key=key, kind="model", amount=Decimal("0.000007"), created_at=timezone.now())


def test_a_row_that_was_inserted_is_read_as_it_was() -> None:
    ann = User.objects.create_user("ann")
    session = Session.objects.create(user=ann)
    turn = Turn(session=session, user=ann, status=Turn.QUEUED, poked_at=Turn.clock.now(), note="ü\n")
    assert plain_sql.insert([turn]) == 1
    read = Turn.objects.get(pk=turn.pk)
    for field in Turn._meta.concrete_fields:
        assert getattr(read, field.attname) == getattr(turn, field.attname), field.name
    assert abs(read.queued_at - timezone.now()) < timedelta(minutes=1)


def test_an_insert_says_whether_a_conflict_was_ignored() -> None:
    assert plain_sql.insert([entry("a")], on_conflict="DO NOTHING") == 1
    assert plain_sql.insert([entry("a")], on_conflict="DO NOTHING") == 0
    assert plain_sql.insert([entry("b"), entry("c")]) == 2
    assert LedgerEntry.objects.count() == 3


def test_an_update_changes_the_rows_that_match_and_no_other() -> None:
    session = Session.objects.create(user=User.objects.create_user("ann"))
    turn, other = (Turn.objects.create(session=session, status=Turn.QUEUED) for _ in range(2))
    values = {"owner": "w", "cost": Decimal("1.5"), "files_seen": ["a"], "started_at": timezone.now()}
    assert plain_sql.update(Turn, {"id": turn.pk, "attempt": 1}, values) == 0
    assert plain_sql.update(Turn, {"id": turn.pk, "attempt": 0}, values) == 1
    turn.refresh_from_db()
    other.refresh_from_db()
    assert {name: getattr(turn, name) for name in values} == values
    assert other.owner == ""
    assert not plain_sql.is_plain({"attempt": F("attempt") + 1}) and plain_sql.is_plain(values)


def test_a_prepared_select_returns_what_its_queryset_does() -> None:
    ann, bob = User.objects.create_user("ann"), User.objects.create_user("bob")
    sessions = [Session.objects.create(user=user, outside_sources=["x"]) for user in (ann, bob)]
    models = plain_sql.PreparedSelect(
        lambda key: Session.objects.filter(pk=key).select_related("user__budget"), uuid.uuid4()
    )
    for session in sessions:
        (found,) = models(session.pk)
        assert (found, found.user, found.outside_sources) == (session, session.user, ["x"])
        assert "user" in found._state.fields_cache
    assert models(uuid.uuid4()) == []
    tuples = plain_sql.PreparedSelect(
        lambda user_id, key: Session.objects.filter(user_id=user_id, pk=key).values_list("pk", "pinned"),
        2**62 + 1,
        uuid.uuid4(),
    )
    assert tuples(ann.pk, sessions[0].pk) == [(sessions[0].pk, False)]
    assert tuples(ann.pk, sessions[1].pk) == []
