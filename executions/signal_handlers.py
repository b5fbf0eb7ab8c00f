"""Receivers of signals, and the package's part of the sweep; connected once when Django is set up."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from typing import Any

from django.db import DatabaseError, InterfaceError, connection
from django.db.models.signals import post_delete

from durable import database
from durable.database import after_commit
from durable.signals import swept
from executions.cancellation import stop_children
from executions.models import Agent, Execution, Review, Schedule, Trigger
from executions.reviews.decisions import expire_due, withdraw
from executions.schedules import actions as schedules
from executions.schedules.actions import stop_ticking
from executions.schedules.run_due import run_late
from executions.signals import agent_removed, execution_ended, review_decided
from executions.triggers.dispatch import start_late
from executions.wait import wake

logger = logging.getLogger(__name__)
WORK: tuple[Callable[[], object], ...] = (expire_due, start_late, run_late)  # each second, in every worker


def connect() -> None:
    swept.connect(sweep, dispatch_uid="executions.sweep")
    review_decided.connect(wake_execution, dispatch_uid="executions.wake_execution")
    execution_ended.connect(wake_parent_and_stop_children, dispatch_uid="executions.family")
    execution_ended.connect(withdraw_reviews, dispatch_uid="executions.withdraw_reviews")
    agent_removed.connect(disable_starts, dispatch_uid="executions.disable_starts")
    post_delete.connect(stop_ticking, sender=Schedule, dispatch_uid="executions.stop_ticking")


def wake_execution(sender: Any, review: Review, **kwargs: Any) -> None:
    """Wake the execution that waits for the decision, inside its transaction."""
    if review.execution_id is not None:
        wake(review.execution_id)


def wake_parent_and_stop_children(sender: Any, execution: Execution, **kwargs: Any) -> None:
    """Wake the parent inside the transaction of the end, and stop the sub-agents after it."""
    if execution.parent is not None:
        wake(execution.parent.execution_id)
    after_commit(stop_children, execution.pk)


def withdraw_reviews(sender: Any, execution: Execution, **kwargs: Any) -> None:
    """Withdraw open reviews inside the transaction of the end."""
    withdraw(execution.pk)


def disable_starts(sender: Any, agent: Agent, **kwargs: Any) -> None:
    """Disable the schedules and triggers of an agent inside the transaction that removes it."""
    for schedule in Schedule.objects.filter(agent=agent, enabled=True):
        schedules.change(schedule, enabled=False)
    Trigger.objects.filter(agent=agent, enabled=True).update(enabled=False)


def sweep(queues: Collection[str], **kwargs: Any) -> None:
    """Do all of it; one that fails does not stop the others and is tried again by the next sweep."""
    if Execution.queue not in queues:
        return
    for work in WORK:
        try:
            database.try_one(work, what=f"The sweep {work.__name__}")
        except (DatabaseError, InterfaceError) as error:
            logger.warning("The sweep %s could not reach the database: %s", work.__name__, error)
            if not connection.in_atomic_block:
                connection.close()
