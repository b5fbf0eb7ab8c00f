"""One bad piece of work stops no other; a database that is away stops them all."""

from __future__ import annotations

import pytest
from django.db import DataError, InterfaceError, OperationalError, transaction

from durable import database
from durable.errors import LeaseLost


class Said(Exception):
    """What the driver raises below Django."""

    def __init__(self, sqlstate: str | None) -> None:
        self.sqlstate = sqlstate


def of_server(sqlstate: str | None) -> OperationalError:
    error = OperationalError("x")
    error.__cause__ = Said(sqlstate)
    return error


def test_the_others_go_on_and_the_traceback_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def work(number: int) -> int:
        return 6 // number

    assert database.run_each([3, 0, 2], work, what="Dividing") == [2, 3]
    [record] = caplog.records
    assert "Dividing failed for 0" in record.message and record.exc_info is not None


@pytest.mark.parametrize(
    "error", [of_server(None), of_server("57P01"), of_server("53100"), InterfaceError("gone")]
)
def test_a_database_that_is_away_ends_the_round(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    asked: list[int] = []

    def work(number: int) -> None:
        asked.append(number)
        raise error

    with pytest.raises(type(error)):
        database.run_each(range(1000), work, what="Asking")
    assert asked == [0] and not caplog.records


@pytest.mark.parametrize(
    "error", [of_server("40P01"), of_server("55P03"), of_server("57014"), DataError("NUL")]
)
def test_trouble_of_one_row_does_not(error: Exception) -> None:
    def work(number: int) -> None:
        if number == 1:
            raise error

    assert database.run_each(range(3), work, what="Asking") == [None, None]


def test_what_will_fail_again_is_told_from_what_may_pass() -> None:
    assert database.may_pass(of_server("40P01")) and not database.is_fault(of_server("40P01"))
    assert (
        database.is_fault(of_server("54000"))
        and database.is_fault(ValueError())
        and database.is_fault(DataError())
    )
    assert not database.is_fault(LeaseLost())


@pytest.mark.django_db
def test_a_deadlock_inside_a_transaction_goes_to_its_owner_who_starts_again() -> None:
    def lose() -> None:
        raise of_server("40P01")

    with pytest.raises(OperationalError), transaction.atomic():
        database.try_one(lose, what="The charge for an answer")
