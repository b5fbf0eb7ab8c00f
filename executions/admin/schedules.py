"""Admin page of schedules."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from durable.admin_actions import ActionsMixin
from durable.admin_rows import GeneratedRows, act_on_each, shown
from executions.models import Schedule
from executions.schedules import actions as schedule_actions
from executions.schedules.run_due import run_now


@admin.register(Schedule)
class ScheduleAdmin(GeneratedRows, ActionsMixin, admin.ModelAdmin):  # type: ignore[type-arg]
    """Schedules and their last errors. Users create them; beat's own rows are under periodic tasks."""

    list_display = [
        "name",
        "user",
        "agent",
        "cron",
        "timezone",
        "enabled",
        "next_run_at",
        "last_due_at",
        "last_error",
    ]
    list_filter = ["enabled", "timezone"]
    list_select_related = ["user", "agent"]
    search_fields = ["=id", "name", "=agent__id", "agent__name", "user__username"]
    ordering = ["-created_at"]
    actions = ["run", "switch_off", "switch_on"]
    fields = readonly_fields = (
        "id",
        "user",
        "name",
        "agent",
        "version",
        "cron",
        "timezone",
        "enabled",
        "next_run_at",
        "last_due_at",
        "last_execution",
        "last_error",
        "session_id",
        "periodic_task",
        "created_at",
        "shown_inputs",
    )

    @admin.action(description="Run now", permissions=["change"])
    def run(self, request: HttpRequest, chosen: QuerySet[Schedule]) -> None:
        act_on_each(self, request, chosen, run_now, done="started")

    @admin.action(description="Switch off", permissions=["change"])
    def switch_off(self, request: HttpRequest, chosen: QuerySet[Schedule]) -> None:
        enabled = chosen.filter(enabled=True)
        act_on_each(
            self,
            request,
            enabled,
            lambda row: schedule_actions.change(row, enabled=False),
            done="switched off",
        )

    @admin.action(description="Switch on: missed runs are not made up", permissions=["change"])
    def switch_on(self, request: HttpRequest, chosen: QuerySet[Schedule]) -> None:
        disabled = chosen.filter(enabled=False)
        act_on_each(
            self,
            request,
            disabled,
            lambda row: schedule_actions.change(row, enabled=True),
            done="switched on",
        )

    @admin.display(description="inputs")
    def shown_inputs(self, schedule: Schedule) -> str:
        return shown(schedule.inputs)
