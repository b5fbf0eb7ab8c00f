"""Whom a turn works for: limits per person count by it."""

from __future__ import annotations

import uuid

from accounts.models import User
from chat.models import Session, Turn


def test_a_turn_works_for_its_user() -> None:
    user = User(pk=7)
    assert Turn(user=user, session=Session(user=user)).on_behalf_of() == "user:7"


def test_turns_of_one_visitor_work_for_the_same_person() -> None:
    visitor = uuid.uuid4()
    names = {Turn(session=Session(visitor_id=visitor)).on_behalf_of() for _ in range(2)}
    assert names == {f"visitor:{visitor}"}
