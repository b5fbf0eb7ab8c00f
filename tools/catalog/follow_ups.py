"""schedule_followup, list_followups and cancel_followup: turns of the copilot at a later time."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from pydantic import Field, model_validator

from accounts.models import User
from durable.clock import database_now
from durable.database import in_transaction
from executions.errors import BadCron
from executions.schedules.cron import Cron, parse_cron, read_cron
from tools import limits
from tools.base import Effect, Reads, ToolArgs, ToolResult, tool
from tools.context import ToolContext
from tools.errors import ModelRetry, ToolError, as_tool_errors
from tools.follow_up_actions import cancel
from tools.models import FollowUp
from tools.preconditions import login_required


class FollowUpArgs(ToolArgs):
    prompt: str = Field(
        min_length=1,
        max_length=limits.MAX_FOLLOW_UP_CHARACTERS,
        description="What you should do then. Write it so that it is clear without this conversation.",
    )
    in_minutes: float | None = Field(default=None, gt=0, le=limits.MAX_FOLLOW_UP_MINUTES)
    at: datetime | None = Field(
        default=None, description="ISO time; without an offset in the user's time zone."
    )
    cron: str | None = Field(default=None, max_length=100, description="Five fields: again and again.")
    new_session: bool = Field(default=False, description="In a new conversation instead of this one.")

    @model_validator(mode="after")
    def one_time(self) -> FollowUpArgs:
        if sum(value is not None for value in (self.in_minutes, self.at, self.cron)) != 1:
            raise ValueError("give one of in_minutes, at and cron")
        return self


class ListFollowUpsArgs(ToolArgs):
    """No arguments."""


class CancelFollowUpArgs(ToolArgs):
    followup_id: str = Field(min_length=1, max_length=64)


class FollowUpScheduled(ToolResult):
    type: Literal["followup_scheduled"] = "followup_scheduled"
    followup: dict[str, Any]


class FollowUpList(ToolResult):
    type: Literal["followup_list"] = "followup_list"
    followups: list[dict[str, Any]]


class FollowUpCancelled(ToolResult):
    type: Literal["followup_cancelled"] = "followup_cancelled"
    followup_id: str


@tool(effect=Effect.IDEMPOTENT, gates=[login_required], reads=Reads.NOTHING, holds=True)
def schedule_followup(args: FollowUpArgs, context: ToolContext) -> FollowUpScheduled:
    """Have yourself called again later, once or by cron, in this conversation or a new one, to do what `prompt` says.

    For reminders and things to look after. Use run_agent with cron to run an agent by the clock.
    """
    made = FollowUp.objects.filter(key=context.key).first() or make(args, context)
    return FollowUpScheduled(message=f"Scheduled: {when_of(made)}.", followup=describe(made))


@tool(gates=[login_required], reads=Reads.NOTHING, holds=False)
def list_followups(args: ListFollowUpsArgs, context: ToolContext) -> FollowUpList:
    """List the follow-ups that are still to come."""
    rows = FollowUp.objects.filter(user=context.user).exclude(next_run_at=None).order_by("next_run_at")
    shown = [describe(row) for row in rows]
    count = "1 follow-up is" if len(shown) == 1 else f"{len(shown) or 'No'} follow-ups are"
    return FollowUpList(message=f"{count} scheduled.", followups=shown)


@tool(effect=Effect.IDEMPOTENT, gates=[login_required], reads=Reads.NOTHING, holds=True)
def cancel_followup(args: CancelFollowUpArgs, context: ToolContext) -> FollowUpCancelled:
    """Cancel a follow-up, so that it does not happen any more."""
    found = find(args.followup_id, context.user)
    if found is None:
        raise ToolError(
            "There is no such follow-up.", code="not_found", next_step="List them with list_followups."
        )
    cancel(found)
    return FollowUpCancelled(message="The follow-up was cancelled.", followup_id=str(found.pk))


def make(args: FollowUpArgs, context: ToolContext) -> FollowUp:
    user = context.user
    now = database_now()
    with as_tool_errors():
        cron = parse_cron(args.cron, user.time_zone) if args.cron is not None else None
    due_at = cron.next_after(now) if cron else due_once(args, user, now)

    @in_transaction
    def insert() -> FollowUp:
        User.objects.select_for_update(no_key=True).get(pk=user.pk)  # two at once cannot both be the last
        if (
            FollowUp.objects.filter(user=user).exclude(next_run_at=None).count()
            >= limits.MAX_FOLLOW_UPS_PER_USER
        ):
            raise ToolError(
                f"There are {limits.MAX_FOLLOW_UPS_PER_USER} follow-ups already, the most allowed. Cancel one first.",
                code="too_many",
            )
        made, _ = FollowUp.objects.get_or_create(
            key=context.key,
            defaults={
                "user": user,
                "session_id": context.session_id,
                "prompt": args.prompt,
                "fresh": args.new_session,
                "cron": cron.expression if cron else "",
                "timezone": user.time_zone,
                "next_run_at": due_at,
                "permissions": context.permissions.as_json(),
                "outside_sources": list(context.outside_sources),
            },
        )
        return made

    return insert()


def due_once(args: FollowUpArgs, user: User, now: datetime) -> datetime:
    """Return the one time; raises ModelRetry when it is over or too far away."""
    if args.in_minutes is not None:
        return now + timedelta(minutes=args.in_minutes)
    assert args.at is not None
    at = args.at if args.at.tzinfo else args.at.replace(tzinfo=user.zone)
    at = at.astimezone(UTC)
    if at <= now:
        raise ModelRetry(
            f"{args.at.isoformat()} is over.",
            next_step=f"Give a later time. It is {now.astimezone(user.zone).isoformat(timespec='minutes')} now.",
        )
    if at > now + timedelta(minutes=limits.MAX_FOLLOW_UP_MINUTES):
        raise ModelRetry("A follow-up can be at most a year ahead.")
    return at


def find(followup_id: str, user: User) -> FollowUp | None:
    try:
        return FollowUp.objects.filter(pk=uuid.UUID(followup_id), user=user).first()
    except ValueError:
        return None


def describe(row: FollowUp) -> dict[str, Any]:
    return {
        "followup_id": str(row.pk),
        "prompt": row.prompt,
        "when": when_of(row),
        "next_run_at": row.next_run_at.isoformat() if row.next_run_at else None,
        "cron": row.cron or None,
        "new_session": row.fresh,
        "last_error": row.last_error or None,
    }


def when_of(row: FollowUp) -> str:
    if row.cron:
        return words_for(row)
    if row.next_run_at is None:
        return "over"
    local = row.next_run_at.astimezone(row.user.zone)
    return f"{local:%A, %d %B %Y at %H:%M} ({row.user.time_zone})"


def words_for(row: FollowUp) -> str:
    try:
        cron: Cron = read_cron(row.cron, row.timezone)
    except BadCron as error:
        return str(error)
    return cron.words
