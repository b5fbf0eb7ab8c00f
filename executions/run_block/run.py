"""Run of a single block, for a user or for the model in a chat; at most a few minutes."""

from __future__ import annotations

import contextvars
import logging
import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.db import connections

from accounts.budgets import check_budget
from accounts.errors import OverBudget
from accounts.ledger import charge_once
from accounts.models import LedgerEntry, User
from blocks.base import Block, Effects
from blocks.errors import InputError, ParkedForReview
from blocks.pins import MISSING
from blocks.ports import JSON, StoreScope
from blocks.prepare import prepare
from durable.database import in_transaction, release
from durable.errors import LeaseLost
from durable.stop_signal import StopReason, StopSignal
from durable.tracing import acting_for
from executions import limits, permissions
from executions.engine.commit_batch import price_of
from executions.engine.dependencies import EngineDependencies
from executions.engine.node_run import NodeRun, RunOutcome
from executions.engine.plan import PlannedNode
from executions.engine.ports.store import StoredValues
from executions.errors import BadInputs, BlockDenied, NotAlone
from executions.graph import Node
from executions.run_block.scope import SingleScope

log = logging.getLogger(__name__)
NAMESPACE = uuid.UUID("5f9c3f0e-6f0b-4a57-9c58-1f2f6d1f7a11")
TOO_LONG = (
    f"The block was stopped after {limits.MAX_BLOCK_WAIT_SECONDS:.0f} seconds, the limit for a single block. "
    "Put it into an agent and run that."
)
STOPPED = "The block was stopped."
BEGUN, OUTCOME = "single_begun", "single_outcome"


@dataclass(frozen=True, kw_only=True)
class SingleRun:
    """Which block, with what, for whom. The same `key` again is the same run: charged once, an effect done once."""

    block_id: str
    inputs: Mapping[str, JSON]
    key: str
    permissions: Mapping[str, JSON] = field(default_factory=dict)
    safe_mode: bool = True
    session_id: uuid.UUID | None = None
    outside_sources: tuple[
        str, ...
    ] = ()  # outside content read before: effects that leave the site then need approval
    known_addresses: bool = False  # the URLs it may fetch come verbatim from a person or a page
    seconds: float = limits.MAX_BLOCK_WAIT_SECONDS
    tool: str = ""  # the chat tool that runs it; empty: the API


@dataclass(frozen=True, kw_only=True)
class SingleResult:
    """Outputs in order by pin, and the error that ended the run, if any."""

    outputs: dict[str, list[JSON]]
    error: str = ""
    cost: Decimal = Decimal(0)


def run_single_block(
    user: User,
    wanted: SingleRun,
    cancel: StopSignal | None = None,
    dependencies: EngineDependencies | None = None,
) -> SingleResult:
    """Run a block to its end or its time limit, and return the result.

    Raises UnknownBlock, NotAlone, BlockDenied, BadInputs or OverBudget when nothing was run, and ParkedForReview
    when a person must approve first: repeated with the same key, it continues from there.
    """
    dependencies = dependencies or EngineDependencies()
    block = dependencies.registry.get(wanted.block_id)
    check(block, wanted)
    run = make_run(user, block, wanted, dependencies)
    memory = Memory(user.pk, run)
    if (known := memory.outcome()) is not None:
        return SingleResult(**known)
    charge_fixed(user, run)
    run.in_doubt = not memory.begin()
    try:
        with acting_for(f"user:{user.pk}"):
            finish(run, wanted, cancel)
    finally:
        cost = charge_used(user, run)
    result = settle(run, cost, memory)
    memory.keep(result.outputs, result.error, result.cost)
    return result


def check(block: Block, wanted: SingleRun) -> None:
    if not block.runs_alone:
        raise NotAlone(f"{block.name} only works inside an agent. Put it into one and run that.")
    if not permissions.allows(wanted.permissions, block):
        raise BlockDenied(f"The block {block.name!r} may not be used in this session.")
    try:
        prepare(block, wanted.inputs)
    except InputError as error:
        raise BadInputs({problem.pin: problem.message for problem in error.problems}) from None


def make_run(user: User, block: Block, wanted: SingleRun, dependencies: EngineDependencies) -> NodeRun:
    run_id = uuid.uuid5(NAMESPACE, f"{user.pk} {wanted.key}")
    scope = SingleScope(user, dependencies.model, wanted)
    node = PlannedNode(
        node=Node(id=block.id, block_id=block.id),
        block=block,
        values={},
        queued=(),
        static=(),
        looped=(),
        links=(),
    )
    return NodeRun(id=run_id, node=node, inputs=wanted.inputs, scope=scope)


# --- at work ------------------------------------------------------------------------------------


def finish(run: NodeRun, wanted: SingleRun, cancel: StopSignal | None) -> None:
    """Run it on a separate thread, which is abandoned if it does not stop when its time is over."""
    seconds = min(wanted.seconds, limits.MAX_BLOCK_WAIT_SECONDS)
    remove = cancel.add_callback(run.stop.set) if cancel is not None else (lambda: None)
    run.begin()
    work = contextvars.copy_context().run
    threading.Thread(target=work, args=(on_thread, run), name=f"block {run.node.name}", daemon=True).start()
    release()
    try:
        if not run.scope.inbox.wait(seconds):
            run.error = TOO_LONG
            log.warning(
                "A block was stopped at its time limit",
                extra={"tool": wanted.tool, "block": run.node.block.name, "cap_seconds": seconds},
            )
            run.stop.set(StopReason.TIMED_OUT)
            run.scope.inbox.wait(limits.NODE_STOP_SECONDS)
        elif run.outcome is None:  # woken by a cancel
            run.scope.inbox.wait(limits.NODE_STOP_SECONDS)
    finally:
        remove()
        run.closed = True
        run.seconds = time.monotonic() - run.began


def on_thread(run: NodeRun) -> None:
    remove = run.stop.add_callback(run.scope.inbox.wake)
    try:
        run.work()
    finally:
        remove()
        connections.close_all()


def settle(run: NodeRun, cost: Decimal, memory: Memory) -> SingleResult:
    """Return the result, or raise what the caller must handle instead."""
    match run.outcome:
        case RunOutcome.PARKED if isinstance(run.parked, ParkedForReview):
            memory.forget()  # nothing has happened yet
            raise run.parked
        case RunOutcome.OVER_BUDGET:
            raise OverBudget(run.error)
        case RunOutcome.LOST:
            raise LeaseLost
        case RunOutcome.COMPLETED:
            return SingleResult(outputs=by_pin(run), cost=cost)
        case _:
            return SingleResult(outputs=by_pin(run), error=run.error or STOPPED, cost=cost)


def by_pin(run: NodeRun) -> dict[str, list[JSON]]:
    outputs: dict[str, list[JSON]] = {}
    for pin, value in list(run.outputs):
        outputs.setdefault(pin, []).append(value)
    return outputs


# --- money --------------------------------------------------------------------------------------


def charge_fixed(user: User, run: NodeRun) -> None:
    """Charge the fixed price before the run begins, so that no crash makes it free."""
    amount = run.node.block.cost.per_run
    if amount:
        check_budget(user)
        charge(user, run, f"block:{run.id}", amount)
        run.prepaid = True


def charge_used(user: User, run: NodeRun) -> Decimal:
    """Charge what it has used besides, and return the total."""
    total = price_of(run)
    fixed = run.node.block.cost.per_run
    if total > fixed:
        charge(user, run, f"block:{run.id}:use", total - fixed)
    return max(total, fixed if run.ran else Decimal(0))


def charge(user: User, run: NodeRun, key: str, amount: Decimal) -> None:
    in_transaction(charge_once)(
        user_id=user.pk,
        key=key,
        kind=LedgerEntry.Kind.BLOCK,
        amount=amount,
        description=run.node.block.name,
    )


class Memory:
    """Remembers blocks with effects only; others may run again."""

    def __init__(self, user_id: int, run: NodeRun) -> None:
        self._matters = run.node.block.effects is Effects.EFFECTFUL
        self._store = StoredValues(
            user_id=user_id, agent_id="", execution_id="", node_id=run.node.id, run_id=run.id
        )

    def outcome(self) -> dict[str, Any] | None:
        """Return how the same run ended before, else None."""
        if not self._matters:
            return None
        kept = self._store.get(StoreScope.NODE_EXECUTION, OUTCOME)
        return None if kept is MISSING else kept | {"cost": Decimal(kept["cost"])}

    def begin(self) -> bool:
        """Record that an effect is about to happen; return False if an earlier attempt had recorded it and no end."""
        if not self._matters:
            return True
        mark = uuid.uuid4().hex
        return bool(self._store.put_if_absent(StoreScope.NODE_EXECUTION, BEGUN, mark) == mark)

    def forget(self) -> None:
        """Delete the record: the effect has not happened."""
        if self._matters:
            self._store.remove(StoreScope.NODE_EXECUTION, BEGUN)

    def keep(self, outputs: dict[str, list[JSON]], error: str, cost: Decimal) -> None:
        if self._matters:
            kept = {"outputs": outputs, "error": error, "cost": str(cost)}
            self._store.put(StoreScope.NODE_EXECUTION, OUTCOME, kept)
