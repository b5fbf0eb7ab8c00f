"""Changing the status of an execution by hand: only as the table on the model allows."""

from __future__ import annotations

import uuid
from typing import Any

from durable.errors import IllegalMove
from executions.models import Execution


def move(execution_id: uuid.UUID, status: str, *, deliberate: bool = False, **changes: Any) -> None:
    """One conditional UPDATE; raises IllegalMove. What has ended is taken up again only deliberately.

    Attempts move by their lease, which proves in the same UPDATE that the execution is running.
    """
    allowed = Execution.MOVES.get(status, frozenset())
    if not deliberate:
        allowed -= Execution.TERMINAL
    moved = Execution.objects.filter(pk=execution_id, status__in=allowed).update(status=status, **changes)
    if not moved:
        raise IllegalMove(f"An execution cannot become {status} from what it is now.")
