"""Memory of a single block run, so that its effect happens once per key."""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import Any

from blocks.base import Effects
from blocks.pins import MISSING
from blocks.ports import JSON, StoreScope
from executions.engine.node_run import NodeRun
from executions.engine.ports.store import StoredValues

BEGUN, OUTCOME = "single_begun", "single_outcome"


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
