"""Files as operators see them: names and sizes, never content."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest

from workspace.models import LooseBlob, WorkspaceFile, WorkspaceUsage


@admin.register(WorkspaceFile)
class WorkspaceFileAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ["path", "user", "media_type", "size", "created_at", "updated_at"]
    list_filter = ["media_type", "created_at"]
    list_select_related = ["user"]
    search_fields = ["path", "user__username", "id"]
    date_hierarchy = "created_at"
    show_full_result_count = False
    readonly_fields = ["id", "user", "path", "media_type", "size", "sha256"]
    readonly_fields += ["session_id", "created_at", "updated_at"]
    fields = [*readonly_fields]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        return False


@admin.register(WorkspaceUsage)
class WorkspaceUsageAdmin(ReadOnlyAdmin):
    list_display = ["user", "files", "bytes"]
    list_select_related = ["user"]
    search_fields = ["user__username"]


@admin.register(LooseBlob)
class LooseBlobAdmin(ReadOnlyAdmin):
    list_display = ["blob", "created_at"]
