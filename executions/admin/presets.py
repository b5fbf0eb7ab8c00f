"""Admin page of presets."""

from __future__ import annotations

from django.contrib import admin

from durable.admin_rows import GeneratedRows, shown
from executions.models import Preset


@admin.register(Preset)
class PresetAdmin(GeneratedRows, admin.ModelAdmin):  # type: ignore[type-arg]
    """Presets of inputs; their owners save them in chat. Deleting one leaves its agent and its runs."""

    list_display = ["name", "agent", "user", "updated_at"]
    list_filter = [("user", admin.RelatedOnlyFieldListFilter)]
    list_select_related = ["user", "agent"]
    search_fields = ["=id", "name", "=agent__id", "agent__name", "user__username"]
    ordering = ["-updated_at"]
    show_full_result_count = False
    fields = readonly_fields = ("id", "user", "agent", "name", "created_at", "updated_at", "shown_inputs")

    @admin.display(description="inputs")
    def shown_inputs(self, preset: Preset) -> str:
        return shown(preset.inputs)
