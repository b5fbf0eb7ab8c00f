"""What a forked child must not share with its parent: open database connections, and the pool that keeps them."""

from __future__ import annotations

from typing import Any

from django.db import connections

_inherited: list[Any] = []  # kept for ever: to collect them would end the parent's sessions


def leave_connections_behind() -> None:
    """Give this process connections of its own; two processes on one socket answer each other's questions."""
    for alias in list(connections):
        found: Any = getattr(connections._connections, alias, None)  # type: ignore[attr-defined]
        pools: dict[str, Any] = getattr(_wrapper(alias), "_connection_pools", {})
        _inherited.append((found, dict(pools)))
        pools.clear()
        if found is not None:
            del connections[alias]


def _wrapper(alias: str) -> Any:
    return type(connections[alias])
