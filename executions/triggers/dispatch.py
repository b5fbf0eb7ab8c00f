"""Starts of executions from stored calls: once per call, also after a crash, and again for a replay."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping
from datetime import timedelta
from http import HTTPStatus

from django.db import InterfaceError, OperationalError, transaction
from django.db.models import F
from django.utils import timezone

from blocks.base import BlockType
from blocks.ports import JSON
from blocks.registry import get_registry
from durable import database, storable
from durable import limits as durable_limits
from durable.clock import database_now
from durable.database import in_transaction
from durable.errors import Refusal
from executions import limits
from executions.errors import CannotRun, NotReplayable
from executions.graph import parse_graph
from executions.models import AgentVersion, Execution, Trigger, TriggerDelivery
from executions.start import ExecutionRequest, find_version, start
from workspace import limits as workspace_limits

logger = logging.getLogger(__name__)
State = TriggerDelivery.State
UNFORESEEN = "It could not be started because of an error on our side. The error was logged."
PAYLOAD_PIN = "payload"


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
    database.run_each(ids, start_or_postpone, what="A late call of a trigger")
    return len(ids)


def start_or_postpone(delivery_id: uuid.UUID) -> None:
    """Start it; postpone a call whose row cannot be written like one that cannot be started."""
    try:
        start_delivery(delivery_id)
    except Exception as error:
        if database.may_pass(error):
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


def try_out(trigger: Trigger, payload: Mapping[str, JSON]) -> TriggerDelivery:
    """Start the agent as a call with this payload would, and log it as a call. Its owner asks, so nothing is signed."""
    made = TriggerDelivery.objects.create(
        trigger=trigger,
        delivery_key=f"test:{uuid.uuid4()}",
        payload=dict(payload),
        due_at=database_now() + timedelta(seconds=limits.HOOK_PATIENCE_SECONDS),
    )
    start_delivery(made.pk)
    made.refresh_from_db()
    return made


def forget_old() -> int:
    """Delete a batch of old calls from the log; return how many."""
    age = timezone.now() - timedelta(seconds=limits.HOOK_LOG_SECONDS)
    old = TriggerDelivery.objects.filter(received_at__lt=age).exclude(state=State.STORED)
    ids = list(old.values_list("pk", flat=True)[: workspace_limits.PURGE_BATCH])
    return TriggerDelivery.objects.filter(pk__in=ids).delete()[0]


def start_agent(delivery: TriggerDelivery) -> Execution:
    """Start the agent of the call, once per delivery; raises what `start` raises."""
    trigger = delivery.trigger
    agent = trigger.agent
    if not trigger.user.is_active:
        raise CannotRun("The account of its owner is deactivated.")
    if agent.deleted_at is not None:
        raise CannotRun(f"The agent {agent.name!r} was deleted.")
    version = find_version(agent, trigger.version)
    payload: Mapping[str, JSON] = delivery.payload or {}
    nodes = webhook_nodes(version)
    inputs = trigger.inputs if nodes else named_inputs(version, payload) | trigger.inputs
    order = ExecutionRequest(
        version=version.version,
        client_id=f"trigger:{delivery.pk}",
        source=Execution.Source.TRIGGER,
        node_inputs=node_inputs(trigger, nodes, payload),
    )
    return start(trigger.user, agent, inputs, order).execution


def webhook_nodes(version: AgentVersion) -> list[str]:
    """Return the ids of its trigger blocks."""
    registry = get_registry()
    return [
        node.id
        for node in parse_graph(version.graph).nodes
        if node.block_id in registry and registry.get(node.block_id).type is BlockType.WEBHOOK_MANUAL
    ]


def node_inputs(
    trigger: Trigger, nodes: list[str], payload: Mapping[str, JSON]
) -> dict[str, dict[str, JSON]]:
    """Return the payload for the chosen trigger block, or for all of them."""
    if trigger.node_id and trigger.node_id not in nodes:
        raise CannotRun(f"The agent no longer has a trigger block with the id {trigger.node_id!r}.")
    meant = [trigger.node_id] if trigger.node_id else nodes
    return {node: {PAYLOAD_PIN: dict(payload)} for node in meant}


def named_inputs(version: AgentVersion, payload: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return the values of the payload named like an input; an input named `payload` gets all of it."""
    names = version.input_schema.get("properties") or {}
    whole = {PAYLOAD_PIN: dict(payload)} if PAYLOAD_PIN in names else {}
    return whole | {name: payload[name] for name in names if name in payload}
