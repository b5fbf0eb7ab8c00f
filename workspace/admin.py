"""Files as operators see them: names and sizes, never content."""

from __future__ import annotations

from django.contrib import admin

from durable.admin_rows import GeneratedRows, ViewOnlyRows
from workspace.models import LooseBlob, WorkspaceFile, WorkspaceUsage


@admin.register(WorkspaceFile)
class WorkspaceFileAdmin(GeneratedRows, admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ["path", "user", "media_type", "size", "created_at", "updated_at"]
    list_filter = ["media_type", "created_at"]
    list_select_related = ["user"]
    search_fields = ["path", "user__username", "id"]
    date_hierarchy = "created_at"
    show_full_result_count = False
    readonly_fields = ["id", "user", "path", "media_type", "size", "sha256"]
    readonly_fields += ["session_id", "created_at", "updated_at"]
    fields = [*readonly_fields]


@admin.register(WorkspaceUsage)
class WorkspaceUsageAdmin(ViewOnlyRows, admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ["user", "files", "bytes"]
    list_select_related = ["user"]
    search_fields = ["user__username"]


@admin.register(LooseBlob)
class LooseBlobAdmin(ViewOnlyRows, admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ["blob", "created_at"]
