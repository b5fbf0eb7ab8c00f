"""Live progress of a running execution, sent to open devices at a limited rate."""

from __future__ import annotations

import json
import time
import uuid
from typing import Any

from blocks.errors import ParkedForReview
from blocks.ports import JSON
from executions import limits, notifications
from executions.engine.node_run import NodeRun
from executions.models import Execution
from executions.models.status import public_status
from executions.redaction import NONE, Secrets, hide, shown_value
from workspace import limits as workspace_limits


class ProgressReporter:
    """Gathers changes; the newest state of a run replaces an older one that was not sent."""

    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self._secrets = execution.secrets
        self._changed: dict[uuid.UUID, tuple[NodeRun, str]] = {}
        self._sent_at = 0.0

    def note(self, run: NodeRun, status: str) -> None:
        self._changed.pop(run.id, None)
        self._changed[run.id] = (run, status)

    def send(self, *, at_once: bool = False) -> None:
        """Send the gathered changes, unless others were sent a moment ago."""
        now = time.monotonic()
        if not at_once and (not self._changed or now - self._sent_at < limits.EXECUTION_NEWS_GAP_SECONDS):
            return
        newest = list(self._changed.values())[-limits.MAX_NEWS_NODES :]
        self._changed.clear()
        self._sent_at = now
        changes = [describe(run, status, self._secrets) for run, status in newest]
        notifications.execution_changed(self._execution, changes)


def describe(run: NodeRun, status: str, secrets: Secrets) -> dict[str, Any]:
    return {
        "id": str(run.id),
        "node_id": run.node.id,
        "name": run.node.name,
        "run": run.key.number if run.key else None,
        "status": public_status(status, asks_person=isinstance(run.parked, ParkedForReview)),
        "progress": run.progress,
        "message": hide(run.message, secrets),
        "started_at": run.started_at.isoformat() if run.started_at else None,
        "ended_at": run.ended_at.isoformat() if run.ended_at else None,
        "outputs": [
            [pin, excerpt(pin, value, secrets)]
            for pin, value in run.outputs[-workspace_limits.OUTPUT_FIRST_ITEMS :]
        ],
        "error": hide(run.error or run.note, secrets) or None,
    }


def excerpt(pin: str, value: JSON, secrets: Secrets = NONE) -> JSON:
    """Return the value if it is short, else the start of its JSON."""
    text = json.dumps(shown_value(pin, value, secrets), ensure_ascii=False)
    if len(text) <= limits.MAX_SHOWN_OUTPUT_CHARACTERS:
        return json.loads(text)
    return text[: limits.MAX_SHOWN_OUTPUT_CHARACTERS] + "…"
