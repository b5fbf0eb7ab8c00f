"""Operations as operators see them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from accounts.models import User
from durable import jobs
from tests.tools.operations.conftest import run
from tools.models import Operation

pytestmark = pytest.mark.django_db(transaction=True)
LIST = "/admin/tools/operation/"


@pytest.fixture
def operator(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root", password="x"))
    return client


def act(client: Client, action: str, *operations: Operation) -> None:
    chosen = [str(operation.pk) for operation in operations]
    answer = client.post(LIST, {"action": action, "sure": "yes", "_selected_action": chosen}, follow=True)
    assert answer.status_code == 200
    for operation in operations:
        operation.refresh_from_db()


def test_an_operation_is_listed_and_shown(operator: Client, started: Callable[..., Operation]) -> None:
    operation = run(started(note="shown to operators"))
    assert "test_operation" in operator.get(LIST).content.decode()
    page = operator.get(f"{LIST}{operation.pk}/change/").content.decode()
    assert "shown to operators" in page and "completed" in page


def test_cancel_stops_what_lives_and_leaves_what_has_ended(
    operator: Client, started: Callable[..., Operation]
) -> None:
    ended, queued = run(started(id="c1", note="a")), started(id="c2", note="b")
    act(operator, "cancel", ended, queued)
    assert (ended.status, queued.status) == ("completed", "cancelled")
    [entry] = LogEntry.objects.all()
    assert (entry.object_id, entry.get_change_message()) == (str(queued.pk), "Cancelled.")


def test_requeue_takes_it_from_its_worker(operator: Client, started: Callable[..., Operation]) -> None:
    operation = started()
    assert jobs.claim(Operation, operation.pk, owner="stuck") is not None
    act(operator, "requeue", operation)
    assert (operation.owner, operation.lease_until) == ("", None)
    assert LogEntry.objects.get().get_change_message() == "Requeued."
    assert run(operation).status == "completed"
    assert (operation.attempt, operation.crashes) == (2, 0)
