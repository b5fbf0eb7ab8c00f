"""Detach a forked child from its parent's database connections and pool."""

from __future__ import annotations

from typing import Any

from django.db import connections

_inherited: list[Any] = []  # kept for ever: collecting them would close the parent's sessions


def leave_connections_behind() -> None:
    """Give this process its own connections; two processes on one socket would read each other's answers."""
    for alias in list(connections):
        found: Any = getattr(connections._connections, alias, None)  # type: ignore[attr-defined]
        pools: dict[str, Any] = getattr(_wrapper(alias), "_connection_pools", {})
        _inherited.append((found, dict(pools)))
        pools.clear()
        if found is not None:
            del connections[alias]


def _wrapper(alias: str) -> Any:
    return type(connections[alias])
