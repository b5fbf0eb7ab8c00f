"""A block by itself over HTTP: a worker runs it, the web process waits, and the same sent again is the same run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import httpx
import pytest
from django.test import Client

from accounts.api_keys import create_api_key
from accounts.models import Budget, User
from blocks.registry import get_registry
from durable import cancellation, jobs
from durable.lifecycle import lifecycle_of
from executions import limits
from executions.errors import BadInputs, TooManyExecutions
from executions.models import BlockRun
from executions.run_block import block_jobs
from tests.chat.delivery.live_server import LiveServer
from tests.executions.conftest import run_queued_blocks

DEADLINE = 120.0
CALCULATOR = "Calculator"
SUM: dict[str, Any] = {"operation": "Add", "a": 1, "b": 2}
DIGITS = "9" * 12_000
HOSTILE: list[tuple[str, dict[str, Any]]] = [
    ("Condition", {"value1": DIGITS, "operator": "==", "value2": DIGITS, "yes_value": 1, "no_value": 0}),
    ("XML Parser", {"input_xml": "<a>" * 150 + "x" * 3_000_000 + "</a>" * 150}),
]


def block_id(name: str) -> str:
    return get_registry().get_by_name(name).id


def queue(user: User, inputs: dict[str, Any] | None = None, client_id: str = "one") -> BlockRun:
    return block_jobs.start_block_run(user, block_id(CALCULATOR), inputs or SUM, client_id)


def fresh(run: BlockRun) -> BlockRun:
    return BlockRun.objects.get(pk=run.pk)


@pytest.fixture
def server(transactional_db: None, redis_server: object) -> Iterator[LiveServer]:
    with LiveServer() as started:
        yield started


@pytest.mark.parametrize(("name", "inputs"), HOSTILE)
async def test_the_web_process_runs_no_block_itself(
    server: LiveServer, transactional_db: None, name: str, inputs: dict[str, Any]
) -> None:
    """There is no worker: the run stays queued, others are answered, and the end is told when a worker comes."""
    user = await asyncio.to_thread(User.objects.create, username="ann")
    headers = {"Authorization": f"Bearer {await asyncio.to_thread(create_api_key, user, 'test')}"}
    async with httpx.AsyncClient(base_url=server.url, timeout=DEADLINE, trust_env=False) as web:
        path = f"/api/blocks/{block_id(name)}/execute"
        asked = asyncio.create_task(web.post(path, json={"inputs": inputs}, headers=headers))
        while not await asyncio.to_thread(BlockRun.live().filter(status=BlockRun.QUEUED).exists):
            assert not asked.done(), asked.result().text
            await asyncio.sleep(0.05)
        assert (await web.get("/healthz")).status_code == 200
        assert (await web.get("/api/me", headers=headers)).status_code == 200
        assert not asked.done()
        await asyncio.to_thread(run_queued_blocks)
        answer = await asked
    assert answer.status_code == 200, answer.text
    assert answer.json()["status"] == "completed"


def test_the_same_sent_again_is_the_same_run_and_other_inputs_are_another(user: User) -> None:
    first = queue(user)
    assert queue(user).pk == first.pk
    assert queue(user, {"operation": "Add", "a": 2, "b": 2}).pk != first.pk
    assert queue(user, client_id="two").pk != first.pk


@pytest.mark.django_db(transaction=True)
def test_an_ended_run_is_answered_from_its_row_and_keeps_no_inputs(user: User) -> None:
    run = queue(user)
    assert "operation" not in run.sealed_inputs
    run_queued_blocks()
    ended = fresh(run)
    assert (ended.status, ended.sealed_inputs) == (BlockRun.COMPLETED, "")
    assert queue(user).pk == run.pk
    assert block_jobs.answer_of(ended)["outputs"] == {"result": [3]}


def test_inputs_that_do_not_fit_are_refused_by_the_worker(user: User) -> None:
    run = queue(user, {"operation": "Add", "a": 1, "b": 2, "c": 3})
    run_queued_blocks()
    with pytest.raises(BadInputs) as refused:
        block_jobs.answer_of(fresh(run))
    assert list(refused.value.problems) == ["c"]
    assert queue(user, {"operation": "Add", "a": 1, "b": 2, "c": 3}).pk != run.pk


def test_inputs_that_are_too_large_are_refused_at_once(user: User) -> None:
    with pytest.raises(BadInputs):
        queue(user, {"operation": "x" * limits.MAX_INPUT_BYTES})
    assert not BlockRun.objects.exists()


def test_a_used_up_budget_is_answered_as_such(user: User, block_worker: None) -> None:
    Budget.objects.create(user=user, day_limit=Decimal(0), month_limit=None)
    search = get_registry().get_by_name("Search The Web")
    client = Client()
    client.force_login(user)
    answer = client.post(
        f"/api/blocks/{search.id}/execute", {"inputs": {"query": "x"}}, content_type="application/json"
    )
    assert (answer.status_code, answer.json()["error"]["code"]) == (402, "over_budget")


def test_a_run_that_takes_longer_than_a_request_may_is_told_to_run(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_BLOCK_WAIT_SECONDS", 0.1)
    monkeypatch.setattr(limits, "BLOCK_QUEUE_SECONDS", 0.0)
    client = Client()
    client.force_login(user)
    answer = client.post(
        f"/api/blocks/{block_id(CALCULATOR)}/execute",
        {"inputs": SUM, "client_id": "slow"},
        content_type="application/json",
    )
    assert (answer.status_code, answer.json()["status"], answer.json()["client_id"]) == (
        202,
        "running",
        "slow",
    )


def test_a_worker_that_dies_is_taken_over(user: User) -> None:
    run = queue(user)
    assert jobs.claim(BlockRun, run.pk, owner="one that dies") is not None
    BlockRun.objects.filter(pk=run.pk).update(lease_until=BlockRun.clock.after(-1))
    lease = jobs.claim(BlockRun, run.pk, owner="another")
    assert lease is not None
    block_jobs.run(lease)
    ended = fresh(run)
    assert (ended.status, ended.attempt) == (BlockRun.COMPLETED, 2)
    assert block_jobs.answer_of(ended)["outputs"] == {"result": [3]}


def test_a_run_that_was_cancelled_says_so(user: User) -> None:
    run = queue(user)
    assert cancellation.stop(BlockRun, run.pk)
    jobs.end_if_cancelled(BlockRun, run.pk)
    ended = fresh(run)
    assert ended.status == BlockRun.CANCELLED
    assert block_jobs.answer_of(ended)["error"] == "The block was stopped."


def test_so_many_runs_of_one_person_at_once(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_RUNNING_BLOCK_RUNS_PER_USER", 1)
    monkeypatch.setattr(limits, "MAX_LIVE_BLOCK_RUNS_PER_USER", 2)
    first, second = queue(user, client_id="1"), queue(user, client_id="2")
    with pytest.raises(TooManyExecutions):
        queue(user, client_id="3")
    assert jobs.claim(BlockRun, first.pk, owner="w") is not None
    assert jobs.claim(BlockRun, second.pk, owner="w") is None
    assert not lifecycle_of(BlockRun).startable(BlockRun.objects.filter(status=BlockRun.QUEUED)).exists()
    other = User.objects.create(username="bob")
    third = queue(other)
    assert jobs.claim(BlockRun, third.pk, owner="w") is not None


def test_old_runs_are_forgotten_and_live_ones_are_not(user: User) -> None:
    old, live = queue(user, client_id="old"), queue(user, client_id="live")
    BlockRun.objects.filter(pk=old.pk).update(
        status=BlockRun.COMPLETED, ended_at=BlockRun.clock.after(-2 * limits.BLOCK_RUN_KEEP_SECONDS)
    )
    assert block_jobs.forget_old_block_runs() == 1
    assert list(BlockRun.objects.values_list("pk", flat=True)) == [live.pk]


@pytest.mark.django_db
def test_blocks_that_are_not_installed_are_listed_with_service_and_category(
    client: Client, django_user_model: type[User]
) -> None:
    address = "/api/blocks/elsewhere"
    assert client.get(address).status_code in (401, 403)
    client.force_login(django_user_model.objects.create(username="ada"))
    listed = {block["name"]: block for block in client.get(address).json()}
    assert listed["Gmail Send"] == {
        "id": "6c27abc2-e51d-499e-a85f-5a0041ba94f0",
        "name": "Gmail Send",
        "provider": "Google",
        "category": "communication",
    }
