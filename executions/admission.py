"""Admission of queued executions: limits per user and agent, order of arrival, and a fair share for every user."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from django.db.models import (
    Case,
    Count,
    F,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
    Window,
)
from django.db.models.functions import Coalesce, RowNumber

from accounts.models import User
from durable.database import after_commit
from durable.pauses import Pauses
from durable.publisher import poke
from executions import limits
from executions.models import Execution
from executions.models.status import STARTED, PublicStatus, has_public_status


def may_start(execution_id: uuid.UUID) -> bool:
    """Return whether a worker may claim it now; called inside the claim's transaction.

    Locks the user's row, so that claims for one user wait for each other. A queued execution also has to be among
    the first of its agent, and gives way to users who have fewer at work.
    """
    execution = Execution.objects.filter(pk=execution_id).first()
    if execution is None:
        return False  # deleted meanwhile
    User.objects.select_for_update(no_key=True).get(pk=execution.user_id)
    at_work = held_by_user()
    if at_work.get(execution.user_id, 0) >= limits.MAX_HELD_EXECUTIONS_PER_USER:
        return False
    if execution.status != Execution.QUEUED:
        return True  # it had started before
    if execution.parent_id is None and not _is_among_the_first(execution):
        return False
    return execution.user_id not in at_work or not _gives_way(execution, at_work)


def _is_among_the_first(execution: Execution) -> bool:
    """Return whether its agent has room for it and for all that were queued before it."""
    same = Execution.objects.filter(user_id=execution.user_id, agent_id=execution.agent_id, parent=None)
    room = limits.MAX_RUNNING_EXECUTIONS_PER_AGENT - started(same).count()
    first = same.filter(status=Execution.QUEUED).order_by("queued_at", "id").values_list("pk", flat=True)
    return room > 0 and execution.pk in first[:room]


def _gives_way(execution: Execution, at_work: Mapping[int, int]) -> bool:
    """Poke the execution of a user with fewer at work, if one can start, and leave this one to the next sweep."""
    deserving = next_by_fair_share(at_work, before=execution.user_id)
    if deserving is None:
        return False
    Execution.objects.filter(pk=execution.pk).update(poked_at=None)
    after_commit(poke, Execution, deserving)
    return True


def startable(queued: QuerySet[Any]) -> QuerySet[Any]:
    """Narrow queued executions to the first of each agent, as many as there is room for."""
    busy = held().order_by().values("user").annotate(count=Count("pk"))
    full = busy.filter(count__gte=limits.MAX_HELD_EXECUTIONS_PER_USER).values("user")
    is_child = Case(When(parent=None, then=Value(0)), default=Value(1), output_field=IntegerField())
    number = Window(
        RowNumber(), partition_by=[F("user"), F("agent"), is_child], order_by=[F("queued_at"), F("id")]
    )
    return _with_room(queued.annotate(number=number), F("number")).exclude(user__in=full)


def _with_room(queued: QuerySet[Any], number: F | Value) -> QuerySet[Any]:
    """Narrow to those whose agent has room for so many more; sub-agents are part of their parent's run."""
    same = Execution.objects.filter(user=OuterRef("user"), agent=OuterRef("agent"), parent=None)
    running = started(same).order_by().values("agent").annotate(count=Count("pk")).values("count")
    counted: QuerySet[Any] = queued.annotate(running_of_agent=Coalesce(Subquery(running), 0))
    counted = counted.annotate(room=limits.MAX_RUNNING_EXECUTIONS_PER_AGENT - F("running_of_agent"))
    return counted.filter(Q(parent__isnull=False) | Q(room__gte=number))


def next_by_fair_share(at_work: Mapping[int, int], *, before: int) -> uuid.UUID | None:
    """Return the execution that starts before those of a user, None if they are next; `at_work` counts by user.

    It is the oldest startable one of the user with the fewest at work. Paused users are passed over: what may not
    start must not keep others from starting.
    """
    fewer = {user: count for user, count in at_work.items() if count < at_work.get(before, 0)}
    passed_over: list[int | str] = [before, *Pauses.read().users, *(at_work.keys() - fewer.keys())]
    queued = Execution.objects.filter(status=Execution.QUEUED).exclude(user_id__in=passed_over)
    share = Case(*(When(user=user, then=Value(count)) for user, count in fewer.items()), default=Value(0))
    by_share = [share] if fewer else []  # PostgreSQL does not order by a constant
    oldest = _with_room(queued, Value(1)).order_by(*by_share, "queued_at", "id")
    return oldest.values_list("pk", flat=True).first()


def next_of(execution: Execution) -> list[uuid.UUID]:
    """Return the user's next execution that may start now that this one has ended."""
    queued = Execution.objects.filter(user_id=execution.user_id, status=Execution.QUEUED)
    if not queued.exists():
        return []  # the usual case, without counting
    line = startable(queued).order_by("queued_at", "id")
    return list(line.values_list("pk", flat=True)[:1])


def started(rows: QuerySet[Execution]) -> QuerySet[Execution]:
    """Narrow to those that count against the limit: running, or waiting for anything but a person."""
    return rows.filter(status__in=STARTED).exclude(has_public_status(PublicStatus.REVIEW))


def held() -> QuerySet[Execution]:
    """Return those a worker holds right now; those of a dead worker drop out with their leases.

    The condition on the status is that of the index, so that SQLite uses it; only what runs has an owner.
    """
    return Execution.objects.filter(status__in=STARTED, lease_until__gt=Execution.clock.now()).exclude(
        owner=""
    )


def held_by_user() -> dict[int, int]:
    """Count what workers hold, by user: as few rows as there are workers' threads, whatever is queued."""
    return dict(held().order_by().values_list("user_id").annotate(Count("pk")))
