"""The store port: values that outlive a node run; and how ports reach the database through a short outage."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from django.conf import settings
from django.db import InterfaceError, OperationalError

from blocks.pins import MISSING
from blocks.ports import JSON, PortError, StoreScope
from durable.database import release, retry_database
from durable.errors import LeaseLost
from executions.models import StoredValue

MAX_KEY_CHARACTERS = 255
T = TypeVar("T")


def persist(work: Callable[[], T]) -> T:
    """Run `work`, which may run twice; raises LeaseLost when the database is unavailable for the length of a lease.

    The connection is released at once, because what the block does next may take long.
    """
    try:
        return retry_database(work, seconds=float(settings.COPILOT_LEASE_SECONDS))
    except (OperationalError, InterfaceError) as error:
        raise LeaseLost from error
    finally:
        release()


@dataclass(frozen=True, kw_only=True)
class StoredValues:
    """The values a node run may access, by scope."""

    user_id: int
    agent_id: str
    execution_id: str
    node_id: str
    run_id: uuid.UUID

    def get(self, scope: StoreScope, key: str) -> JSON:
        return persist(lambda: self._get(scope, key))

    def put(self, scope: StoreScope, key: str, value: JSON) -> None:
        persist(
            lambda: StoredValue.objects.update_or_create(
                user_id=self.user_id, scope=self._name(scope), key=checked(key), defaults={"value": value}
            )
        )

    def put_if_absent(self, scope: StoreScope, key: str, value: JSON) -> JSON:
        row = StoredValue(user_id=self.user_id, scope=self._name(scope), key=checked(key), value=value)
        persist(lambda: StoredValue.objects.bulk_create([row], ignore_conflicts=True))
        return self.get(scope, key)

    def remove(self, scope: StoreScope, key: str) -> None:
        """Delete a value, if there is one."""
        mine = StoredValue.objects.filter(user_id=self.user_id, scope=self._name(scope), key=checked(key))
        persist(mine.delete)

    def _get(self, scope: StoreScope, key: str) -> JSON:
        found = StoredValue.objects.filter(user_id=self.user_id, scope=self._name(scope), key=checked(key))
        row = found.values_list("value", flat=True)[:1]
        return next(iter(row), MISSING)

    def _name(self, scope: StoreScope) -> str:
        match scope:
            case StoreScope.ACROSS_AGENTS:
                return scope.value
            case StoreScope.WITHIN_AGENT:
                return f"{scope.value}:{self.agent_id}"
            case StoreScope.NODE:
                return f"{scope.value}:{self.execution_id}:{self.node_id}"
            case StoreScope.NODE_EXECUTION:
                return scope_of_run(self.run_id)


def scope_of_run(run_id: uuid.UUID) -> str:
    """Return where a single run stores what its next attempt needs."""
    return f"{StoreScope.NODE_EXECUTION.value}:{run_id}"


def checked(key: str) -> str:
    if not 0 < len(key) <= MAX_KEY_CHARACTERS:
        raise PortError(f"A key must have 1 to {MAX_KEY_CHARACTERS} characters.")
    return key
