"""Admin pages of agents, their versions and store listings."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from durable.admin_actions import ActionsMixin, asks_first
from durable.admin_rows import PermanentRows, ViewOnlyRows, shown
from executions.agents.library import remove_agent
from executions.models import Agent, AgentVersion, StoreListing


class VersionInline(ViewOnlyRows, admin.TabularInline):  # type: ignore[type-arg]
    model = AgentVersion
    fields = readonly_fields = ("version", "note", "can_run", "created_at")
    ordering = ("-version",)
    extra = 0
    can_delete = False
    show_change_link = True

    def get_queryset(self, request: HttpRequest) -> QuerySet[AgentVersion]:
        rows: QuerySet[AgentVersion] = super().get_queryset(request).defer("graph")
        return rows

    @admin.display(boolean=True)
    def can_run(self, version: AgentVersion) -> bool:
        return version.is_valid


class PartInline(ViewOnlyRows, admin.TabularInline):  # type: ignore[type-arg]
    """The sub-agents of an agent."""

    model = Agent
    fk_name = "part_of"
    verbose_name_plural = "sub-agents"
    fields = readonly_fields = ("name", "latest_version", "imported_id")
    extra = 0
    can_delete = False
    show_change_link = True


@admin.register(Agent)
class AgentAdmin(PermanentRows, ActionsMixin, admin.ModelAdmin):  # type: ignore[type-arg]
    """The agents in users' libraries. Operators can remove one."""

    list_display = ("name", "user", "latest_version", "source", "part_of", "updated_at", "deleted_at")
    list_filter = ("source", "deleted_at", "updated_at")
    list_select_related = ("user", "part_of")
    search_fields = ("=id", "=imported_id", "name", "user__username")
    ordering = ("-updated_at",)
    show_full_result_count = False
    actions = ("remove",)
    inlines = (VersionInline, PartInline)
    fields = readonly_fields = (
        "id",
        "name",
        "description",
        "user",
        "latest_version",
        "source",
        "imported_id",
        "part_of",
        "listing",
        "created_at",
        "updated_at",
        "deleted_at",
    )

    @admin.action(description="Remove from the library", permissions=["change"])
    @asks_first(
        "Their owners will no longer find these agents in their libraries. Running executions continue."
    )
    def remove(self, request: HttpRequest, chosen: QuerySet[Agent]) -> None:
        there = list(chosen.filter(deleted_at=None))
        for agent in there:
            remove_agent(agent)
            self.log_change(request, agent, "Removed from the library.")
        self.message_user(request, f"{len(there)} removed from their libraries.")


@admin.register(AgentVersion)
class AgentVersionAdmin(ViewOnlyRows, admin.ModelAdmin):  # type: ignore[type-arg]
    """Versions of agents, which are immutable."""

    list_display = ("agent", "version", "can_run", "note", "created_at")
    list_filter = ("created_at",)
    list_select_related = ("agent",)
    search_fields = ("=agent__id", "agent__name", "agent__user__username")
    ordering = ("-created_at",)
    show_full_result_count = False
    fields = readonly_fields = (
        "agent",
        "version",
        "note",
        "created_at",
        "shown_problems",
        "shown_warnings",
        "shown_inputs",
        "shown_outputs",
        "sub_agents",
        "shown_graph",
    )

    @admin.display(boolean=True)
    def can_run(self, version: AgentVersion) -> bool:
        return version.is_valid

    @admin.display(description="problems")
    def shown_problems(self, version: AgentVersion) -> str:
        return shown(version.problems)

    @admin.display(description="warnings")
    def shown_warnings(self, version: AgentVersion) -> str:
        return shown(version.warnings)

    @admin.display(description="inputs")
    def shown_inputs(self, version: AgentVersion) -> str:
        return shown(version.input_schema)

    @admin.display(description="outputs")
    def shown_outputs(self, version: AgentVersion) -> str:
        return shown(version.output_schema)

    @admin.display(description="graph")
    def shown_graph(self, version: AgentVersion) -> str:
        return shown(version.graph)


@admin.register(StoreListing)
class StoreListingAdmin(PermanentRows, ActionsMixin, admin.ModelAdmin):  # type: ignore[type-arg]
    """Store listings. Operators can withdraw one; copies stay."""

    list_display = ("__str__", "name", "published", "additions", "published_at", "withdrawn_at")
    list_filter = ("withdrawn_at", "published_at")
    list_select_related = ("user", "published")
    search_fields = ("=id", "slug", "name", "user__username")
    ordering = ("-published_at",)
    show_full_result_count = False
    actions = ("withdraw",)
    fields = readonly_fields = (
        "id",
        "user",
        "slug",
        "name",
        "description",
        "categories",
        "published",
        "additions",
        "published_at",
        "withdrawn_at",
    )

    @admin.action(description="Withdraw from the store", permissions=["change"])
    @asks_first("Users can no longer add these agents from the store. Copies stay.")
    def withdraw(self, request: HttpRequest, chosen: QuerySet[StoreListing]) -> None:
        there = list(chosen.filter(withdrawn_at=None))
        for listing in there:
            StoreListing.objects.filter(pk=listing.pk).update(withdrawn_at=timezone.now())
            self.log_change(request, listing, "Withdrawn.")
        self.message_user(request, f"{len(there)} withdrawn.")
