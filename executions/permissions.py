"""Which blocks a session allows, as the row of an execution keeps it."""

from __future__ import annotations

from collections.abc import Mapping

from executions.blocks.base import Block
from executions.ports import JSON


def allows(permissions: Mapping[str, JSON], block: Block) -> bool:
    """Whether a block, known by its id and its name, may be used: not denied, and allowed where some are named."""
    blocks = permissions.get("blocks") or {}
    names = {block.id, block.name}
    if names & set(blocks.get("deny") or []):
        return False
    allowed = blocks.get("allow")
    return allowed is None or bool(names & set(allowed))
