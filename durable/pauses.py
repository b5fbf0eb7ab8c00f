"""Pauses: queues and users whose jobs an operator holds back."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from durable import sweep
from durable.database import after_commit
from durable.models import Job, Pause


@dataclass(frozen=True, kw_only=True)
class Pauses:
    """A snapshot of all pauses."""

    queues: frozenset[str] = frozenset()
    users: frozenset[str] = frozenset()

    @classmethod
    def read(cls) -> Pauses:
        rows = list(Pause.objects.values_list("kind", "name"))
        return cls(
            queues=frozenset(name for kind, name in rows if kind == Pause.Kind.QUEUE),
            users=frozenset(name for kind, name in rows if kind == Pause.Kind.USER),
        )

    def hold(self, model: type[Job], job_id: uuid.UUID) -> bool:
        """Return whether this job must wait. Queries the database only while some user is paused."""
        if model.queue in self.queues:
            return True
        if not self.users or not has_user(model):
            return False
        return model._default_manager.filter(self.held_users(), pk=job_id).exists()

    def held_users(self) -> Q:
        return Q(user_id__in=self.users)


def pause(kind: str, name: str, *, reason: str = "") -> bool:
    """Start no more of these jobs; running ones continue. Return False if they were paused already."""
    _, made = Pause.objects.get_or_create(kind=kind, name=name, defaults={"reason": reason[:200]})
    return made


def resume(kind: str, name: str) -> bool:
    """Let them start again; workers notice within a sweep. Return False if they were not paused."""
    deleted, _ = Pause.objects.filter(kind=kind, name=name).delete()
    return bool(deleted)


def changed(**kwargs: Any) -> None:
    """Tell the workers that a pause was made or removed, also in the admin: at rest they sweep rarely."""
    after_commit(sweep.broadcast)


def has_user(model: type[Job]) -> bool:
    return any(field.name == "user" for field in model._meta.get_fields())
