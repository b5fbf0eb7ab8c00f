"""Which signals of the package lead where; connected once when Django is set up."""

from __future__ import annotations

from typing import Any

from django.db.models.signals import post_delete

from durable.after_commit import after_commit
from executions.agents.signals import agent_removed
from executions.cancelling import stop_children
from executions.models import Agent, Execution, Review, Schedule, Trigger
from executions.reviews.deciding import withdraw
from executions.reviews.signals import review_decided
from executions.schedules import keeping as schedules
from executions.schedules.ticking import stop_ticking
from executions.signals import execution_ended
from executions.waking import resume, wake


def connect() -> None:
    review_decided.connect(go_on, dispatch_uid="executions.go_on")
    execution_ended.connect(tell_family, dispatch_uid="executions.tell_family")
    execution_ended.connect(withdraw_reviews, dispatch_uid="executions.withdraw_reviews")
    agent_removed.connect(switch_off, dispatch_uid="executions.switch_off")
    post_delete.connect(stop_ticking, sender=Schedule, dispatch_uid="executions.stop_ticking")


def go_on(sender: Any, review: Review, **kwargs: Any) -> None:
    """A person decided: inside that transaction, the execution that waits for it is called back."""
    if review.execution_id is not None:
        resume(review.execution_id)


def tell_family(sender: Any, execution: Execution, **kwargs: Any) -> None:
    """Inside the transaction that ends it: its parent is called back; after it, its own sub-agents are stopped."""
    if execution.parent is not None:
        wake(execution.parent.execution_id)
    after_commit(stop_children, execution.pk)


def withdraw_reviews(sender: Any, execution: Execution, **kwargs: Any) -> None:
    """Inside the transaction that ends it: nobody needs to decide any more."""
    withdraw(execution.pk)


def switch_off(sender: Any, agent: Agent, **kwargs: Any) -> None:
    """Inside the transaction that removes it: neither the clock nor a call starts it any more."""
    for schedule in Schedule.objects.filter(agent=agent, enabled=True):
        schedules.change(schedule, enabled=False)
    Trigger.objects.filter(agent=agent, enabled=True).update(enabled=False)
