"""Presence: which browser tabs have a draft open."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from durable.database import in_transaction
from executions import limits
from executions.drafts.notifications import editors_changed
from executions.models import Agent, DraftEditor


@in_transaction
def report_editor(agent: Agent, client_id: str, device: str) -> list[DraftEditor]:
    """Note that a tab has the draft open; return the other tabs that do."""
    now = timezone.now()
    gone = now - timedelta(seconds=limits.DRAFT_EDITOR_SECONDS)
    rows = DraftEditor.objects.filter(agent=agent)
    rows.filter(seen_at__lt=gone).delete()
    values = {"device": device[:100], "seen_at": now}
    if rows.count() < limits.MAX_DRAFT_EDITORS or rows.filter(client_id=client_id).exists():
        _, created = DraftEditor.objects.update_or_create(agent=agent, client_id=client_id, defaults=values)
        if created:
            editors_changed(agent.user_id, str(agent.pk))
    return list(rows.exclude(client_id=client_id).order_by("-seen_at"))


@in_transaction
def remove_editor(agent: Agent, client_id: str) -> None:
    """Note that a tab closed the draft. May be repeated."""
    if DraftEditor.objects.filter(agent=agent, client_id=client_id).delete()[0]:
        editors_changed(agent.user_id, str(agent.pk))
