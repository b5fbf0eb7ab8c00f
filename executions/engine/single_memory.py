"""What is remembered of a block that was run by itself, so that its effect happens once per key."""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import Any

from executions.blocks.base import Effects
from executions.blocks.pins import MISSING
from executions.engine.noderun import NodeRun
from executions.engine.ports.store import StoredValues
from executions.ports import JSON, StoreScope

BEGUN, OUTCOME = "single_begun", "single_outcome"


class Memory:
    """Only what has effects is remembered; the rest may simply be done again."""

    def __init__(self, user_id: int, run: NodeRun) -> None:
        self._matters = run.node.block.effects is Effects.EFFECTFUL
        self._store = StoredValues(
            user_id=user_id, agent_id="", execution_id="", node_id=run.node.id, run_id=run.id
        )

    def outcome(self) -> dict[str, Any] | None:
        """How the same run ended before."""
        if not self._matters:
            return None
        kept = self._store.get(StoreScope.NODE_EXECUTION, OUTCOME)
        return None if kept is MISSING else kept | {"cost": Decimal(kept["cost"])}

    def begin(self) -> bool:
        """Write down that an effect is about to happen; False when that was written before, and nothing after it."""
        if not self._matters:
            return True
        mark = uuid.uuid4().hex
        return bool(self._store.put_if_absent(StoreScope.NODE_EXECUTION, BEGUN, mark) == mark)

    def forget(self) -> None:
        """It has not happened after all."""
        if self._matters:
            self._store.remove(StoreScope.NODE_EXECUTION, BEGUN)

    def keep(self, outputs: dict[str, list[JSON]], error: str, cost: Decimal) -> None:
        if self._matters:
            kept = {"outputs": outputs, "error": error, "cost": str(cost)}
            self._store.put(StoreScope.NODE_EXECUTION, OUTCOME, kept)
