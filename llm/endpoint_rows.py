"""The endpoints that administrators added, as every process of the site knows them.

Rows are read by whoever may wait for the database (workers after each sweep, views, commands) and kept in memory, so
that a request to a model costs no query, also on the event loop. A change reaches every process within seconds.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.db import DatabaseError

from durable.database import after_commit
from durable.encryption import CannotUnseal, unseal
from llm import limits
from llm.endpoint import Endpoint
from llm.endpoint_format import BadEndpoint, read_endpoint

logger = logging.getLogger(__name__)
SOURCE = "the admin"


@dataclass(frozen=True, kw_only=True)
class EndpointRows:
    """Everything that the rows say; `problems` names those that cannot be used."""

    endpoints: tuple[Endpoint, ...] = ()
    default: str = ""  # the name of the endpoint whose first model answers where nobody has picked one
    problems: tuple[str, ...] = ()


class _Memory:
    """What this process knows, and since when."""

    rows: EndpointRows | None = None
    read_at = 0.0


def known_rows() -> EndpointRows:
    """Return the rows as last read; the first call in a process reads them, unless it is on an event loop."""
    if _Memory.rows is None and not _on_a_loop():
        refresh()
    return _Memory.rows or EndpointRows()


def refresh() -> None:
    """Read the rows again; what is known stays where the database fails."""
    try:
        remember(_read())
    except DatabaseError as error:
        logger.warning("The endpoints of the admin could not be read: %s", error)


def refresh_if_old() -> None:
    """Read the rows again unless that was just done: for views, and for workers after each sweep."""
    if _Memory.rows is None or time.monotonic() - _Memory.read_at >= limits.ENDPOINTS_FRESH_SECONDS:
        refresh()


def remember(rows: EndpointRows, *, read_at: float | None = None) -> None:
    """Keep what was read, by the monotonic clock."""
    _Memory.rows, _Memory.read_at = rows, time.monotonic() if read_at is None else read_at


def after_sweep(sender: Any, **kwargs: Any) -> None:
    """Read the rows again in a worker."""
    refresh_if_old()


def after_change(sender: Any, **kwargs: Any) -> None:
    """Read the rows at once in the process that changed them."""
    after_commit(refresh)


def as_fields(row: Any, *, key: str = "", groups: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return a row in the written form of an endpoint."""
    return {
        "name": row.name,
        "url": row.url,
        "key": key,
        "dialect": row.dialect,
        "models": row.model_names,
        "prices": row.prices,
        "window": row.window,
        "vision": row.vision,
        "effort": row.effort,
        "groups": groups,
    }


def _read() -> EndpointRows:
    found: list[Endpoint] = []
    problems: list[str] = []
    default = ""
    model = apps.get_model("llm", "ModelEndpoint")
    for row in model._default_manager.filter(enabled=True).prefetch_related("groups"):
        groups = tuple(sorted(group.name for group in row.groups.all()))
        try:
            key = unseal(row.sealed_key) if row.sealed_key else ""
            found.append(read_endpoint(as_fields(row, key=key, groups=groups), SOURCE))
        except (BadEndpoint, CannotUnseal) as error:
            why = f"it {error}." if isinstance(error, BadEndpoint) else str(error)
            problems.append(f"The endpoint {row.name} in the admin is not used: {why}")
            continue
        default = row.name if row.is_default else default
    return EndpointRows(endpoints=tuple(found), default=default, problems=tuple(problems))


def _on_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
