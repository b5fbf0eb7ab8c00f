"""Permissions of a session on blocks, as stored with an execution."""

from __future__ import annotations

from collections.abc import Mapping

from blocks.base import Block
from blocks.ports import JSON


def allows(permissions: Mapping[str, JSON], block: Block) -> bool:
    """Return whether a block may be used: not denied by id or name, and allowed if there is an allow list."""
    blocks = permissions.get("blocks") or {}
    names = {block.id, block.name}
    if names & set(blocks.get("deny") or []):
        return False
    allowed = blocks.get("allow")
    return allowed is None or bool(names & set(allowed))
