"""Statuses: every move there is against the table, and ends that nothing changes."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from durable.errors import IllegalMove
from executions.models import Execution
from executions.models.status import Status
from executions.requeue import move

pytestmark = pytest.mark.django_db
TABLE = {
    "QUEUED": {"INCOMPLETE", "TERMINATED", "WAITING"},
    "RUNNING": {"INCOMPLETE", "QUEUED", "TERMINATED", "WAITING"},
    "COMPLETED": {"RUNNING"},
    "FAILED": {"INCOMPLETE", "QUEUED", "RUNNING", "WAITING"},
    "TERMINATED": {"INCOMPLETE", "QUEUED", "RUNNING", "WAITING"},
    "WAITING": {"RUNNING"},
    "INCOMPLETE": set(),
}
PAIRS = list(itertools.product(Status.values, Status.values))


@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_a_status_moves_as_the_table_says(execution_of: Callable[..., Execution], old: str, new: str) -> None:
    execution = execution_of({"a": ("Store Value", {"input": 1})}, status=old)
    if old in TABLE[new]:
        move(execution.pk, new, deliberate=True)
        assert Execution.objects.get(pk=execution.pk).status == new
    else:
        with pytest.raises(IllegalMove):
            move(execution.pk, new, deliberate=True)
        assert Execution.objects.get(pk=execution.pk).status == old


@pytest.mark.parametrize("new", Status.values)
@pytest.mark.parametrize("end", sorted(Execution.TERMINAL))
def test_an_end_does_not_change_by_accident(
    execution_of: Callable[..., Execution], end: str, new: str
) -> None:
    execution = execution_of({"a": ("Store Value", {"input": 1})}, status=end)
    with pytest.raises(IllegalMove):
        move(execution.pk, new)
    assert Execution.objects.get(pk=execution.pk).status == end
