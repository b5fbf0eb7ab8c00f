"""Second factors in the admin, where administrators can remove one for a user who lost their phone."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from copilot_project.ops.console.second_factor import factor
from copilot_project.ops.console.second_factor.models import Authenticator
from durable.admin_rows import GeneratedRows


@admin.register(Authenticator)
class AuthenticatorAdmin(GeneratedRows, admin.ModelAdmin):  # type: ignore[type-arg]
    """Never shows a key or a code. Deleting one lets its owner in with the password alone."""

    list_display = ["user", "confirmed", "created_at", "used_at"]
    list_filter = ["confirmed"]
    list_select_related = ["user"]
    search_fields = ["user__username"]
    fields = readonly_fields = ("user", "confirmed", "created_at", "used_at")

    def has_change_permission(self, request: HttpRequest, obj: Authenticator | None = None) -> bool:
        return False

    def delete_model(self, request: HttpRequest, obj: Authenticator) -> None:
        factor.remove(obj.user)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Authenticator]) -> None:
        for row in queryset.select_related("user"):
            factor.remove(row.user)
