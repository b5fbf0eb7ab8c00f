"""Completions that come over the Redis stream."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from durable.models import ParkedEntry
from durable.redis import bytes_client
from tests.tools.operations.conftest import run
from tools.models import Operation
from tools.operations import completion_stream

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def stream(redis_server: object) -> Iterator[None]:
    bytes_client().delete(completion_stream.STREAM)
    yield
    bytes_client().delete(completion_stream.STREAM)


@pytest.fixture
def operation(started: Callable[..., Operation]) -> Operation:
    return run(started(accepted=True))


def consume(fields: dict[Any, Any]) -> None:
    bytes_client().xadd(completion_stream.STREAM, fields)
    completion_stream.consumer().read_once(block_seconds=0.01)


def test_one_json_object_in_the_field_data(operation: Operation) -> None:
    said = {"operation_id": str(operation.pk), "task_id": "", "success": True, "result": {"a": [1]}}
    consume({"data": json.dumps(said)})
    operation.refresh_from_db()
    assert (operation.status, operation.result, operation.completed_by) == ("completed", {"a": [1]}, "stream")


def test_plain_fields_by_task_id(operation: Operation) -> None:
    consume({"task_id": str(operation.task_id), "success": "true", "result": '{"a": 1}', "error": ""})
    operation.refresh_from_db()
    assert operation.result == {"a": 1}


def test_a_result_that_is_no_json_is_text(operation: Operation) -> None:
    consume({"operation_id": str(operation.pk), "success": "1", "result": "plain words"})
    operation.refresh_from_db()
    assert operation.result == "plain words"
    assert operation.answer()["result"] == "plain words"


def test_a_failure_with_its_words(operation: Operation) -> None:
    consume({"operation_id": str(operation.pk), "success": "false", "error": "no luck"})
    operation.refresh_from_db()
    assert (operation.status, operation.error) == ("failed", "no luck")


@pytest.mark.parametrize(
    "fields",
    [
        {"data": "{"},
        {"data": "[1]"},
        {"data": "[" * 100_000},
        {"success": "true"},
        {"operation_id": "7", "success": "perhaps"},
        {"operation_id": "00000000-0000-7000-8000-000000000000", "success": "true"},
        {"data": b"\xff\xfe"},
        {b"\xff": b"\x00"},
    ],
)
def test_an_entry_that_makes_no_sense_is_counted_and_not_acknowledged(
    db: None, fields: dict[Any, Any]
) -> None:
    consume(fields)
    assert ParkedEntry.objects.get().tries == 1
    assert bytes_client().xpending(completion_stream.STREAM, completion_stream.GROUP)["pending"] == 1
