"""What a run costs, and the charge for it."""

from __future__ import annotations

from decimal import Decimal

from accounts.ledger import Charge
from accounts.models import LedgerEntry
from executions.engine.noderun import NodeRun

SMALLEST = Decimal("0.000001")


def price_of(run: NodeRun) -> Decimal:
    """What was used is paid for, whether or not something came of it; what was never begun costs nothing."""
    if not run.ran:
        return Decimal(0)
    return run.node.block.cost.total(run.meter, seconds=run.seconds).quantize(SMALLEST)


def charge_for(run: NodeRun, amount: Decimal, *, attempt: int, cut_off: bool = False) -> Charge:
    """Once per run: it stands in the transaction of the run's end. One that was cut off may be begun again."""
    key = f"node:{run.id}:{attempt}" if cut_off else f"node:{run.id}"
    return Charge(key=key, kind=LedgerEntry.Kind.BLOCK, amount=amount, description=run.node.block.name)
