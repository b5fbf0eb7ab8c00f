"""Admin page of credentials, without their secrets."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest

from durable.admin_rows import GeneratedRows
from executions.models import StoredCredential


@admin.register(StoredCredential)
class StoredCredentialAdmin(GeneratedRows, admin.ModelAdmin):  # type: ignore[type-arg]
    """Credentials belong to their owners. Operators can list and delete them."""

    list_display = [
        "__str__",
        "user",
        "provider",
        "kind",
        "host",
        "port",
        "expires_at",
        "signed_out_at",
        "used_at",
    ]
    list_filter = ["kind", "provider"]
    list_select_related = ["user"]
    search_fields = ["=id", "title", "provider", "host", "user__username"]
    ordering = ["-created_at"]
    fields = readonly_fields = (
        "id",
        "user",
        "provider",
        "title",
        "kind",
        "host",
        "port",
        "ca_certificate",
        "scopes",
        "expires_at",
        "refreshing_until",
        "signed_out_at",
        "created_at",
        "used_at",
    )

    def has_change_permission(self, request: HttpRequest, obj: StoredCredential | None = None) -> bool:
        return False
