"""Executions in the admin: a timeline to read, and two things an operator can do, written down."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from accounts.models import User
from durable import jobs
from executions.models import Execution
from executions.requeue import requeue
from tests.executions.conftest import fresh, work_on

pytestmark = pytest.mark.django_db
Make = Callable[..., Execution]
NODES: dict[str, Any] = {"a": ("Store Value", {"input": 1}), "out": ("Agent Output", {"name": "y"})}
LINKS = ["a.output -> out.value"]


@pytest.fixture
def operator(user: User) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


def act(operator: Client, action: str, *executions: Execution) -> str:
    answer = operator.post(
        "/admin/executions/execution/",
        {"action": action, "sure": "yes", "_selected_action": [str(one.pk) for one in executions]},
        follow=True,
    )
    return answer.content.decode()


def test_the_timeline_shows_every_run_and_blots_out_secrets(operator: Client, execution_of: Make) -> None:
    done = work_on(execution_of(NODES, LINKS, {"password": "s3cret"}))
    page = operator.get(f"/admin/executions/execution/{done.pk}/change/").content.decode()
    assert page.count("COMPLETED") >= 3
    assert "s3cret" not in page
    row = done.nodes.get(node_id="a")
    assert operator.get(f"/admin/executions/nodeexecution/{row.pk}/change/").status_code == 200
    for name in ("execution", "nodeexecution"):
        assert operator.get(f"/admin/executions/{name}/").status_code == 200


def test_cancelling_is_written_down(operator: Client, execution_of: Make) -> None:
    queued, done = execution_of(NODES, LINKS), work_on(execution_of(NODES, LINKS))
    assert "Cancellation requested for 1;" in act(operator, "cancel", queued, done)
    assert (fresh(queued).status, fresh(done).status) == ("TERMINATED", "COMPLETED")
    assert LogEntry.objects.get().object_id == str(queued.pk)


def test_a_stopped_execution_can_be_taken_up_where_it_was(operator: Client, execution_of: Make) -> None:
    execution = execution_of(NODES, LINKS)
    act(operator, "cancel", execution)
    assert "1 requeued" in act(operator, "requeue", execution)
    assert fresh(execution).status == "QUEUED"
    assert work_on(execution).outputs == {"y": [1]}


def test_a_running_one_is_given_to_another_worker(execution_of: Make) -> None:
    execution = execution_of(
        NODES, LINKS, status=Execution.RUNNING, owner="stuck", lease_until="2099-01-01T00:00Z"
    )
    assert requeue(execution.pk)
    assert work_on(execution).status == "COMPLETED"


def test_one_that_waits_for_a_time_is_given_to_a_worker_before_it(execution_of: Make) -> None:
    waiting = execution_of(NODES, LINKS, status=Execution.WAITING, run_at="2099-01-01T00:00Z")
    assert not jobs.claimable(Execution).exists()
    assert requeue(waiting.pk)
    assert work_on(waiting).status == "COMPLETED"


@pytest.mark.parametrize("status", ["WAITING", "COMPLETED", "FAILED"])
def test_what_waits_for_a_person_or_ended_by_itself_is_left_alone(execution_of: Make, status: str) -> None:
    execution = execution_of(NODES, LINKS, status=status, asks_person=status == Execution.WAITING)
    assert not requeue(execution.pk)
    assert fresh(execution).status == status
