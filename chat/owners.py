"""Whose conversations they are: a user's, or those of a visitor without an account."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from accounts.models import User
from chat.models import Session, Turn


@dataclass(frozen=True, kw_only=True)
class Owner:
    """Who asks. Everything a person may see or change is reached through here, so that nothing else is found."""

    user: User | None = None
    visitor_id: uuid.UUID | None = None

    @property
    def name(self) -> str:
        """As in Session.owner: the name their devices are rung by."""
        return f"user:{self.user.pk}" if self.user else f"visitor:{self.visitor_id}"

    def sessions(self) -> QuerySet[Session]:
        return Session.objects.filter(self._mine())

    def turns(self) -> QuerySet[Turn]:
        return Turn.objects.filter(self._mine("session__")).select_related("session", "session__user")

    def _mine(self, prefix: str = "") -> Q:
        if self.user is not None:
            return Q(**{f"{prefix}user": self.user})
        if self.visitor_id is not None:
            return Q(**{f"{prefix}user": None, f"{prefix}visitor_id": self.visitor_id})
        return Q(pk__in=[])
