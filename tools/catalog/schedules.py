"""list_schedules and delete_schedule: the user's schedules."""

from __future__ import annotations

import uuid
from typing import Any, Literal

from pydantic import Field

from executions.errors import BadCron
from executions.models import Schedule
from executions.schedules.actions import delete
from executions.schedules.run_due import cron_of
from tools.base import Effect, Reads, ToolArgs, ToolResult, tool
from tools.cards import agent_link
from tools.context import ToolContext
from tools.errors import ToolError
from tools.preconditions import login_required


class NoArgs(ToolArgs):
    """No arguments."""


class DeleteArgs(ToolArgs):
    schedule_id: str = Field(min_length=1, max_length=64)


class ScheduleList(ToolResult):
    type: Literal["schedule_list"] = "schedule_list"
    schedules: list[dict[str, Any]]
    count: int


class ScheduleDeleted(ToolResult):
    type: Literal["schedule_deleted"] = "schedule_deleted"
    schedule_id: str
    name: str


@tool(gates=[login_required], reads=Reads.NOTHING, holds=False)
def list_schedules(args: NoArgs, context: ToolContext) -> ScheduleList:
    """List the user's schedules: which agent runs when, and how its last run went."""
    rows = Schedule.objects.filter(user=context.user).select_related("agent", "last_execution")
    shown = [describe(row) for row in rows.order_by("-created_at")]
    message = "There is 1 schedule." if len(shown) == 1 else f"There are {len(shown) or 'no'} schedules."
    return ScheduleList(message=message, schedules=shown, count=len(shown))


def find_deleted(args: DeleteArgs, context: ToolContext) -> ScheduleDeleted | None:
    """Return the result after a crash: a schedule that is gone was deleted by this call."""
    if find(args.schedule_id, context) is not None:
        return None
    return ScheduleDeleted(message="The schedule was deleted.", schedule_id=args.schedule_id, name="")


@tool(effect=Effect.EFFECTFUL, lookup=find_deleted, gates=[login_required], reads=Reads.NOTHING, holds=True)
def delete_schedule(args: DeleteArgs, context: ToolContext) -> ScheduleDeleted:
    """Delete a schedule, so that it starts no more runs. Runs it has started continue."""
    schedule = find(args.schedule_id, context)
    if schedule is None:
        raise ToolError(
            "There is no such schedule.", code="not_found", next_step="List them with list_schedules."
        )
    delete(schedule)
    message = f"The schedule {schedule.name!r} was deleted."
    return ScheduleDeleted(message=message, schedule_id=args.schedule_id, name=schedule.name)


def find(schedule_id: str, context: ToolContext) -> Schedule | None:
    try:
        wanted = uuid.UUID(schedule_id)
    except ValueError:
        return None
    return Schedule.objects.filter(pk=wanted, user=context.user).first()


def describe(schedule: Schedule) -> dict[str, Any]:
    last = schedule.last_execution
    return {
        "schedule_id": str(schedule.pk),
        "name": schedule.name,
        "agent_name": schedule.agent.name,
        "library_agent_id": str(schedule.agent_id),
        "cron": schedule.cron,
        "timezone": schedule.timezone,
        "when": words_for(schedule),
        "enabled": schedule.enabled,
        "next_run_at": schedule.next_run_at.isoformat() if schedule.next_run_at else None,
        "last_status": last.status if last else None,
        "last_error": schedule.last_error or None,
        "link": agent_link(schedule.agent_id),
    }


def words_for(schedule: Schedule) -> str:
    try:
        return cron_of(schedule).words
    except BadCron as error:
        return str(error)
