"""The context of a long-running tool: how an outside service can complete its operation."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from tools.context import ToolContext
from tools.operations import secrets


@dataclass(frozen=True, kw_only=True)
class OperationContext(ToolContext):
    """The context of a tool's function on the operations queue; `key` stays the same over all attempts."""

    operation_id: uuid.UUID
    task_id: uuid.UUID

    @property
    def secret(self) -> str:
        """The secret with which an outside service signs its completion (Standard Webhooks)."""
        return secrets.secret_of(self.operation_id)

    @property
    def completion_url(self) -> str:
        return secrets.completion_url(self.operation_id)
