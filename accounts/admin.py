"""Admin pages of users, API keys, budgets and the ledger."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.db.models import QuerySet
from django.http import HttpRequest

from accounts.api_keys import revoke_key
from accounts.models import ApiKey, Budget, LedgerEntry, User
from durable import pauses
from durable.admin_actions import ActionsMixin, asks_first
from durable.admin_rows import GeneratedRows, ViewOnlyRows
from durable.models import Pause


class BudgetInline(admin.StackedInline):  # type: ignore[type-arg]
    model = Budget
    extra = 0


@admin.register(User)
class PersonAdmin(ActionsMixin, UserAdmin):  # type: ignore[type-arg]
    fieldsets = [*(UserAdmin.fieldsets or ()), ("Copilot", {"fields": ["time_zone", "theme", "model"]})]
    inlines = [BudgetInline]
    list_display = ["username", "email", "is_staff", "is_active", "paused", "last_login", "date_joined"]
    actions = ["pause", "resume"]

    def has_pause_permission(self, request: HttpRequest) -> bool:
        """Return whether the operator may pause users, which needs the permission to pause queues only."""
        return request.user.has_perms(["durable.add_pause", "durable.delete_pause"])

    def fits(self, action: str, row: User) -> bool:
        return action == ("resume" if self.paused(row) else "pause")

    @admin.display(description="paused", boolean=True)
    def paused(self, person: User) -> bool:
        return Pause.objects.filter(kind=Pause.Kind.USER, name=str(person.pk)).exists()

    @admin.action(description="Pause: start none of their jobs; running ones continue", permissions=["pause"])
    def pause(self, request: HttpRequest, people: QuerySet[User]) -> None:
        paused = [person for person in people if pauses.pause(Pause.Kind.USER, str(person.pk))]
        for person in paused:
            self.log_change(request, person, "Paused.")
        self.message_user(request, f"Paused: {len(paused)}.")

    @admin.action(description="Resume: let their jobs start again", permissions=["pause"])
    def resume(self, request: HttpRequest, people: QuerySet[User]) -> None:
        resumed = [person for person in people if pauses.resume(Pause.Kind.USER, str(person.pk))]
        for person in resumed:
            self.log_change(request, person, "Resumed.")
        self.message_user(request, f"Resumed: {len(resumed)}.")


@admin.register(ApiKey)
class ApiKeyAdmin(GeneratedRows, ActionsMixin, admin.ModelAdmin):  # type: ignore[type-arg]
    """Keys can be revoked. Their owners create them, and neither secrets nor hashes are shown."""

    list_display = ["name", "user", "prefix", "created_at", "last_used_at", "revoked_at"]
    list_filter = ["revoked_at"]
    list_select_related = ["user"]
    search_fields = ["name", "prefix", "user__username"]
    readonly_fields = ("user", "name", "prefix", "created_at", "last_used_at", "revoked_at")
    fields = (
        *readonly_fields,
        *("allowed_models", "allowed_tools", "requests_per_minute", "day_limit", "month_limit"),
    )
    actions = ["revoke"]

    @admin.action(description="Revoke: it no longer works", permissions=["change"])
    @asks_first("Programs that use these keys will be refused. A revoked key cannot be restored.")
    def revoke(self, request: HttpRequest, keys: QuerySet[ApiKey]) -> None:
        revoked = [key for key in keys if revoke_key(key)]
        for key in revoked:
            self.log_change(request, key, "Revoked.")
        self.message_user(request, f"Revoked: {len(revoked)}.")


@admin.register(Budget)
class BudgetAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ["user", "day_limit", "month_limit"]
    list_select_related = ["user"]
    search_fields = ["user__username"]
    autocomplete_fields = ["user"]


@admin.register(LedgerEntry)
class LedgerEntryAdmin(ViewOnlyRows, admin.ModelAdmin):  # type: ignore[type-arg]
    """Charges are read-only."""

    list_display = ["created_at", "user", "kind", "amount", "input_tokens", "output_tokens", "key"]
    list_filter = ["kind", "created_at"]
    list_select_related = ["user"]
    search_fields = ["key", "user__username", "description"]
    date_hierarchy = "created_at"
    show_full_result_count = False
