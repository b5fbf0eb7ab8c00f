"""Admin of stream entries that could not be handled."""

from __future__ import annotations

import json
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from durable import admin_workers, stream_consumer
from durable.admin_actions import ActionsMixin, asks_first
from durable.models import ParkedEntry
from durable.redaction import redact
from durable.redis import RedisError

__all__ = ["ParkedEntryAdmin", "admin_workers"]
SHOWN_CHARACTERS = 20_000


@admin.register(ParkedEntry)
class ParkedEntryAdmin(ActionsMixin, admin.ModelAdmin):  # type: ignore[type-arg]
    """Replay puts an entry back at the end of its stream; drop forgets it."""

    list_display = ["entry_id", "stream", "state", "tries", "error", "first_seen_at"]
    list_filter = ["state", "stream"]
    search_fields = ["=entry_id"]
    ordering = ["-first_seen_at"]
    actions = ["replay", "drop"]
    fields = readonly_fields = (
        "stream",
        "group",
        "entry_id",
        "state",
        "tries",
        "error",
        "first_seen_at",
        "changed_at",
        "shown_fields",
    )

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Remove Django's own delete action, which would also take entries that are being retried."""
        actions = super().get_actions(request)
        actions.pop("delete_selected", None)
        return actions

    def fits(self, action: str, row: ParkedEntry) -> bool:
        wanted = {"replay": [ParkedEntry.State.PARKED]}
        return row.state in wanted.get(action, [ParkedEntry.State.PARKED, ParkedEntry.State.REPLAYED])

    @admin.action(description="Replay: put back at the end of the stream", permissions=["change"])
    def replay(self, request: HttpRequest, entries: QuerySet[ParkedEntry]) -> None:
        count = 0
        try:
            for entry in entries:
                if stream_consumer.replay(entry):
                    self.log_change(request, entry, "Replayed.")
                    count += 1
        except (RedisError, OSError):
            self.message_user(request, "Redis does not answer. Try again.", messages.ERROR)
        self.message_user(request, f"{count} replayed; entries that are not parked were left alone.")

    @admin.action(description="Drop: forget parked and replayed entries", permissions=["delete"])
    @asks_first("These entries are deleted. Jobs that wait for them continue to wait until their deadline.")
    def drop(self, request: HttpRequest, entries: QuerySet[ParkedEntry]) -> None:
        done = entries.exclude(state=ParkedEntry.State.RETRYING)
        self.log_deletions(request, done)
        self.message_user(request, f"{done.delete()[0]} dropped.")

    @admin.display(description="fields")
    def shown_fields(self, entry: ParkedEntry) -> str:
        return json.dumps(redact(entry.fields), indent=2, ensure_ascii=False)[:SHOWN_CHARACTERS]
