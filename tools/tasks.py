"""Celery tasks: each is a poke that names a row."""

from __future__ import annotations

import uuid

from celery import shared_task

from durable.runtime import runtime
from tools.models import Operation
from tools.operations import runner


@shared_task(name="tools.run_operation")
def run_operation(operation_id: str) -> None:
    """Run one operation. Once: a second delivery finds the lease held and returns."""
    runtime().run(Operation, uuid.UUID(operation_id), runner.run)
