"""Which signals of the package lead where; connected once when Django is set up."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.db import transaction

from executions.models import Execution, Review
from executions.reviews.signals import review_decided
from executions.signals import execution_ended
from executions.waking import resume, wake


def connect() -> None:
    review_decided.connect(go_on, dispatch_uid="executions.go_on")
    execution_ended.connect(tell_family, dispatch_uid="executions.tell_family")


def go_on(sender: Any, review: Review, **kwargs: Any) -> None:
    """A person decided: inside that transaction, the execution that waits for it is called back."""
    if review.execution_id is not None:
        resume(review.execution_id)


def tell_family(sender: Any, execution: Execution, **kwargs: Any) -> None:
    """Inside the transaction that ends it: its parent is called back; after it, its own sub-agents are stopped."""
    if execution.parent is not None:
        wake(execution.parent.execution_id)
    transaction.on_commit(partial(stop_children, execution.pk), robust=True)
