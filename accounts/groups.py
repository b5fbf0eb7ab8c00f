"""The groups of people, by which endpoints are open to some of them only."""

from __future__ import annotations

from django.contrib.auth.models import Group


def group_names(user_id: int | str | None) -> frozenset[str]:
    """Return the names of a person's groups; none for a visitor without an account."""
    if not user_id:
        return frozenset()
    return frozenset(Group.objects.filter(user__pk=user_id).values_list("name", flat=True))
