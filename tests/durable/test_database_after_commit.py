"""What is done after a commit cannot make the commit look failed."""

from __future__ import annotations

import logging

import pytest
from django.db import transaction

from durable.database import after_commit

pytestmark = pytest.mark.django_db(transaction=True)


def test_it_is_called_with_its_arguments_once_the_transaction_has_committed() -> None:
    heard: list[str] = []
    with transaction.atomic():
        after_commit(heard.append, "done")
        assert heard == []
    assert heard == ["done"]


def test_it_is_not_called_after_a_rollback() -> None:
    heard: list[str] = []
    with pytest.raises(RuntimeError), transaction.atomic():
        after_commit(heard.append, "done")
        raise RuntimeError
    assert heard == []


def test_one_that_raises_is_logged_by_its_name_and_stops_nobody(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[str] = []

    def stumble(where: str) -> None:
        raise ValueError(where)

    with caplog.at_level(logging.ERROR), transaction.atomic():
        after_commit(stumble, "here")
        after_commit(heard.append, "done")
    assert heard == ["done"]
    assert "stumble" in caplog.text
