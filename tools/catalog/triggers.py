"""list_triggers and create_trigger: web addresses that start agents."""

from __future__ import annotations

import uuid
from typing import Any, Literal

from pydantic import Field

from executions.models import Trigger
from executions.triggers.actions import NewTrigger, create
from tools.agent_lookup import by_library_id
from tools.base import Effect, Reads, ToolArgs, ToolResult, tool
from tools.cards import agent_link
from tools.context import ToolContext
from tools.errors import as_tool_errors
from tools.preconditions import login_required

PAGE = "/library/triggers"


class ListTriggersArgs(ToolArgs):
    """No arguments."""


class CreateTriggerArgs(ToolArgs):
    library_agent_id: str = Field(min_length=1, max_length=64)
    name: str = Field(min_length=1, max_length=200)
    inputs: dict[str, Any] | None = Field(
        default=None, description="Inputs of every run besides the payload."
    )
    signed: bool = Field(default=False, description="Only take calls signed as Standard Webhooks.")


class TriggerList(ToolResult):
    type: Literal["trigger_list"] = "trigger_list"
    triggers: list[dict[str, Any]]
    link: str = PAGE


class TriggerCreated(ToolResult):
    type: Literal["trigger_created"] = "trigger_created"
    trigger: dict[str, Any]
    link: str = PAGE


@tool(gates=[login_required], reads=Reads.NOTHING, holds=False)
def list_triggers(args: ListTriggersArgs, context: ToolContext) -> TriggerList:
    """List the user's triggers: web addresses that start an agent when they are called."""
    rows = Trigger.objects.filter(user=context.user).select_related("agent").order_by("-created_at")
    shown = [describe(row) for row in rows]
    message = "There is 1 trigger." if len(shown) == 1 else f"There are {len(shown) or 'no'} triggers."
    return TriggerList(message=message, triggers=shown)


def find_created(args: CreateTriggerArgs, context: ToolContext) -> TriggerCreated | None:
    """Return the result after a crash, by the id that is derived from the call."""
    row = Trigger.objects.select_related("agent").filter(pk=trigger_id(context), user=context.user_id).first()
    return created(row) if row else None


@tool(effect=Effect.EFFECTFUL, lookup=find_created, gates=[login_required], reads=Reads.NOTHING, holds=True)
def create_trigger(args: CreateTriggerArgs, context: ToolContext) -> TriggerCreated:
    """Make a web address that starts an agent. Its secret part is only shown to the user, on the triggers page."""
    agent = by_library_id(args.library_agent_id, context)
    with as_tool_errors():
        made = create(
            context.user,
            NewTrigger(
                id=trigger_id(context),
                agent=agent,
                name=args.name,
                inputs=args.inputs or {},
                scheme=Trigger.Scheme.STANDARD if args.signed else Trigger.Scheme.NONE,
            ),
        )
    return created(made.trigger)


def created(trigger: Trigger) -> TriggerCreated:
    return TriggerCreated(
        message=f"The trigger {trigger.name!r} was created. Get its address on the triggers page, with New address.",
        next_step="Tell the user that they get the address on the triggers page. You cannot see it.",
        trigger=describe(trigger),
    )


def trigger_id(context: ToolContext) -> uuid.UUID:
    return uuid.uuid5(uuid.NAMESPACE_URL, f"trigger:{context.key}")


def describe(trigger: Trigger) -> dict[str, Any]:
    return {
        "trigger_id": str(trigger.pk),
        "name": trigger.name,
        "agent_name": trigger.agent.name,
        "library_agent_id": str(trigger.agent_id),
        "enabled": trigger.enabled,
        "signed": trigger.scheme != Trigger.Scheme.NONE,
        "called_at": trigger.called_at.isoformat() if trigger.called_at else None,
        "link": agent_link(trigger.agent_id),
    }
