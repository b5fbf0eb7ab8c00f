"""Live news of a running execution: what its nodes are at, not more often than anybody can look."""

from __future__ import annotations

import json
import time
import uuid
from typing import Any

from durable import limits
from executions import news
from executions.engine.noderun import NodeRun
from executions.models import Execution
from executions.ports import JSON
from executions.showing import NONE, Secrets, hide, shown_value


class Telling:
    """Gathers what changed; the newest state of a run replaces an older one that nobody has heard yet."""

    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self._secrets = execution.secrets
        self._changed: dict[uuid.UUID, tuple[NodeRun, str]] = {}
        self._told_at = 0.0

    def note(self, run: NodeRun, status: str) -> None:
        self._changed.pop(run.id, None)
        self._changed[run.id] = (run, status)

    def tell(self, *, at_once: bool = False) -> None:
        """Send what has gathered, if the last news is old enough."""
        now = time.monotonic()
        if not at_once and (not self._changed or now - self._told_at < limits.EXECUTION_NEWS_GAP_SECONDS):
            return
        newest = list(self._changed.values())[-limits.MAX_NEWS_NODES :]
        self._changed.clear()
        self._told_at = now
        told = [describe(run, status, self._secrets) for run, status in newest]
        news.execution_changed(self._execution, told)


def describe(run: NodeRun, status: str, secrets: Secrets) -> dict[str, Any]:
    return {
        "id": str(run.id),
        "node_id": run.node.id,
        "name": run.node.name,
        "run": run.key.number if run.key else None,
        "status": status,
        "progress": run.progress,
        "message": hide(run.message, secrets),
        "started_at": run.started_at.isoformat() if run.started_at else None,
        "ended_at": run.ended_at.isoformat() if run.ended_at else None,
        "outputs": [
            [pin, excerpt(pin, value, secrets)] for pin, value in run.outputs[-limits.OUTPUT_FIRST_ITEMS :]
        ],
        "error": hide(run.error or run.note, secrets) or None,
    }


def excerpt(pin: str, value: JSON, secrets: Secrets = NONE) -> JSON:
    """The value when it is short, else the start of its JSON."""
    text = json.dumps(shown_value(pin, value, secrets), ensure_ascii=False)
    if len(text) <= limits.MAX_SHOWN_OUTPUT_CHARACTERS:
        return json.loads(text)
    return text[: limits.MAX_SHOWN_OUTPUT_CHARACTERS] + "…"
