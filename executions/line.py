"""Who may start: so many executions per user and agent, in the order they came, and nobody in front of others."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

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
from durable import limits

if TYPE_CHECKING:
    from executions.models import Execution


def may_start(model: type[Execution], execution_id: uuid.UUID) -> bool:
    """Whether a worker may take it now. Holds the user's row, so that claims of one user wait for each other."""
    execution = model.objects.filter(pk=execution_id).first()
    if execution is None:
        return False  # deleted meanwhile
    User.objects.select_for_update(no_key=True).get(pk=execution.user_id)
    if held(model).filter(user_id=execution.user_id).count() >= limits.MAX_HELD_EXECUTIONS_PER_USER:
        return False
    if execution.status != model.QUEUED or execution.parent_id is not None:
        return True  # it had started before, or belongs to one that has
    same = model.objects.filter(user_id=execution.user_id, agent_id=execution.agent_id, parent=None)
    room = limits.MAX_RUNNING_EXECUTIONS_PER_AGENT - same.filter(status=model.RUNNING).count()
    first = same.filter(status=model.QUEUED).order_by("queued_at", "id").values_list("pk", flat=True)
    return room > 0 and execution_id in first[:room]


def startable(model: type[Execution], queued: QuerySet[Any]) -> QuerySet[Any]:
    """Leave in peace those that are not among the first of their agent, and those of users who have no room."""
    running = model.objects.filter(
        user=OuterRef("user"), agent=OuterRef("agent"), parent=None, status=model.RUNNING
    )
    at_work = held(model).filter(user=OuterRef("user"))
    is_child = Case(When(parent=None, then=Value(0)), default=Value(1), output_field=IntegerField())
    place = Window(
        RowNumber(), partition_by=[F("user"), F("agent"), is_child], order_by=[F("queued_at"), F("id")]
    )
    counted: QuerySet[Any] = queued.annotate(
        running_of_agent=Coalesce(count_by(running, "agent"), 0),
        held_of_user=Coalesce(count_by(at_work, "user"), 0),
        place=place,
    )
    has_room = Q(place__lte=limits.MAX_RUNNING_EXECUTIONS_PER_AGENT - F("running_of_agent"))
    return counted.filter(
        Q(parent__isnull=False) | has_room, held_of_user__lt=limits.MAX_HELD_EXECUTIONS_PER_USER
    )


def next_in_line(model: type[Execution], hint: uuid.UUID, *, paused: Collection[str] = ()) -> uuid.UUID:
    """The queued execution whose turn it is, seen from a poke for one of them: users take turns.

    A worker with a free hand takes the oldest of the user who has the fewest at work. Whoever has none at work is
    not looked past, so the usual poke costs one count. Users who are paused are passed over: what nobody may start
    must not keep others from starting.
    """
    owner = model.objects.filter(pk=hint, status=model.QUEUED).values_list("user_id", flat=True).first()
    if owner is None or not held(model).filter(user_id=owner).exists():
        return hint
    queued = model.objects.filter(status=model.QUEUED).exclude(user_id__in=paused)
    line = startable(model, queued).order_by("held_of_user", "queued_at", "id")
    return line.values_list("pk", flat=True).first() or hint


def next_of(execution: Execution) -> list[uuid.UUID]:
    """Those of the same user that may start now that this one has ended."""
    model = type(execution)
    queued = model.objects.filter(user_id=execution.user_id, status=model.QUEUED)
    if not queued.exists():
        return []  # the usual case, without counting
    line = startable(model, queued).order_by("queued_at", "id")
    return list(line.values_list("pk", flat=True)[:1])


def held(model: type[Execution]) -> QuerySet[Execution]:
    """What a worker is at right now; one that died is out of its lease soon."""
    return model.objects.filter(status=model.RUNNING, lease_until__gt=model.clock.now()).exclude(owner="")


def count_by(rows: QuerySet[Any], field: str) -> Subquery:
    return Subquery(rows.order_by().values(field).annotate(n=Count("pk")).values("n"))
