"""Starts of executions from stored calls: once per call, also after a crash, and again for a replay."""

from __future__ import annotations

import logging
import uuid
from datetime import timedelta
from http import HTTPStatus

from django.db import InterfaceError, OperationalError, transaction
from django.db.models import F
from django.utils import timezone

from durable import fault_isolation, storable
from durable import limits as durable_limits
from durable.clock import database_now
from durable.refusals import Refusal
from durable.transactions import in_transaction
from executions import limits
from executions.errors import NotReplayable
from executions.models import TriggerDelivery
from executions.triggers.input_mapping import start_agent
from workspace import limits as workspace_limits

logger = logging.getLogger(__name__)
State = TriggerDelivery.State
UNFORESEEN = "It could not be started because of an error on our side. The error was logged."


@in_transaction
def start_delivery(delivery_id: uuid.UUID) -> None:
    """Start the agent of a stored call. Once: its state and the execution are one transaction."""
    rows = TriggerDelivery.objects.select_for_update(of=("self",), no_key=True)
    delivery = rows.select_related("trigger__user", "trigger__agent").filter(pk=delivery_id).first()
    if delivery is None or delivery.state != State.STORED:
        return
    delivery.tries += 1
    try:
        with transaction.atomic():
            delivery.execution = start_agent(delivery)
        delivery.state, delivery.error = State.STARTED, ""
    except Refusal as error:
        postpone(delivery, str(error), for_now=error.status == HTTPStatus.TOO_MANY_REQUESTS)
    except (OperationalError, InterfaceError):
        raise  # the database is unavailable; the row is unchanged
    except Exception:  # an error of one agent must not lose the call
        logger.exception("delivery %s could not be started", delivery.pk)
        postpone(delivery, UNFORESEEN, for_now=True)
    delivery.save(update_fields=["execution", "state", "error", "tries", "due_at"])


def postpone(delivery: TriggerDelivery, reason: str, *, for_now: bool) -> None:
    """Set the time of the next try, or fail it for its owner to replay."""
    delivery.error, delivery.execution = storable.text(reason), None
    if for_now and delivery.tries < limits.HOOK_TRIES:
        pause = limits.HOOK_FIRST_PAUSE_SECONDS * 2 ** (delivery.tries - 1)
        delivery.due_at = database_now() + timedelta(seconds=pause)
    else:
        delivery.state = State.FAILED


def start_late() -> int:
    """Start calls that were stored and not started, or postponed; return how many."""
    late = TriggerDelivery.objects.filter(state=State.STORED, due_at__lte=database_now()).order_by("due_at")
    ids = list(late.values_list("pk", flat=True)[: durable_limits.SWEEP_BATCH])
    fault_isolation.run_each(ids, start_or_postpone, what="A late call of a trigger")
    return len(ids)


def start_or_postpone(delivery_id: uuid.UUID) -> None:
    """Start it; postpone a call whose row cannot be written like one that cannot be started."""
    try:
        start_delivery(delivery_id)
    except Exception as error:
        if fault_isolation.may_pass(error):
            raise
        stored = TriggerDelivery.objects.filter(pk=delivery_id, state=State.STORED)
        pause = timezone.now() + timedelta(seconds=limits.HOOK_FIRST_PAUSE_SECONDS)
        stored.filter(tries__gte=limits.HOOK_TRIES - 1).update(state=State.FAILED, error=UNFORESEEN)
        stored.update(tries=F("tries") + 1, due_at=pause, error=UNFORESEEN)
        raise


def replay(delivery: TriggerDelivery) -> TriggerDelivery:
    """Start the same call again as a new delivery; raises NotReplayable."""
    if delivery.state == State.REFUSED:
        raise NotReplayable("This call was refused, so its data was not stored. Have it sent again.")
    if delivery.state == State.STORED:
        raise NotReplayable("This call has not been started yet; it starts automatically.")
    again = TriggerDelivery.objects.create(
        trigger=delivery.trigger,
        delivery_key=f"replay:{uuid.uuid4()}",
        headers=delivery.headers,
        payload=delivery.payload,
        replay_of=delivery,
        due_at=database_now() + timedelta(seconds=limits.HOOK_PATIENCE_SECONDS),
    )
    start_delivery(again.pk)
    again.refresh_from_db()
    return again


def forget_old() -> int:
    """Delete a batch of old calls from the log; return how many."""
    age = timezone.now() - timedelta(seconds=limits.HOOK_LOG_SECONDS)
    old = TriggerDelivery.objects.filter(received_at__lt=age).exclude(state=State.STORED)
    ids = list(old.values_list("pk", flat=True)[: workspace_limits.PURGE_BATCH])
    return TriggerDelivery.objects.filter(pk__in=ids).delete()[0]
