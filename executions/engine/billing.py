"""Price of a run, and the charge for it."""

from __future__ import annotations

from decimal import Decimal

from accounts.ledger import Charge
from accounts.models import LedgerEntry
from executions.engine.node_run import NodeRun

SMALLEST = Decimal("0.000001")


def price_of(run: NodeRun) -> Decimal:
    """Return the price of what a run used, whatever its outcome; 0 if its block was never begun."""
    if not run.ran:
        return Decimal(0)
    return run.node.block.cost.total(run.meter, seconds=run.seconds).quantize(SMALLEST)


def charge_for(run: NodeRun, amount: Decimal, *, attempt: int, cut_off: bool = False) -> Charge:
    """Return the charge of a run, made once: its key is the run, and the attempt too if it was cut off."""
    key = f"node:{run.id}:{attempt}" if cut_off else f"node:{run.id}"
    return Charge(key=key, kind=LedgerEntry.Kind.BLOCK, amount=amount, description=run.node.block.name)
