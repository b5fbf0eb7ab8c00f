"""view_agent_output: the outputs of an agent's runs."""

from __future__ import annotations

import uuid

from django.db.models import QuerySet
from django.utils import timezone
from pydantic import Field

from executions import limits as executions_limits
from executions.models import Agent, Execution
from executions.outside_content import sources_of
from executions.wait import has_news
from tools import limits
from tools.agent_lookup import by_library_id_or_removed, by_name, by_store_slug
from tools.base import Reads, ToolArgs, WaitSeconds, tool
from tools.context import ToolContext
from tools.errors import ModelRetry, NoResults, ToolError
from tools.execution_output import REMOVED, AgentOutput, follow_execution, list_executions, output_of
from tools.preconditions import login_required
from tools.time_ranges import TimeRange, read_span
from tools.time_ranges.time_range import LATEST

CAP_SECONDS = executions_limits.MAX_TOOL_WAIT_SECONDS + limits.TOOL_SECONDS


class Args(ToolArgs):
    agent_name: str | None = Field(
        default=None,
        max_length=executions_limits.MAX_QUERY_CHARACTERS,
        description="Words; the best match is used.",
    )
    library_agent_id: str | None = Field(default=None, max_length=64)
    store_slug: str | None = Field(default=None, max_length=300, description="username/slug")
    execution_id: str | None = Field(default=None, max_length=64, description="Only this run.")
    run_time: str | None = Field(
        default=None,
        max_length=200,
        description="When it ran: latest (default), today, yesterday, last week, 3 days ago, since monday, "
        "YYYY-MM-DD, an ISO time ...",
    )
    wait_if_running: WaitSeconds = Field(
        default=0.0, description="Seconds to wait. Above 0, runs that have not completed are included."
    )
    show_execution_details: bool = Field(default=False, description="Include the runs of its nodes.")


@tool(cap_seconds=CAP_SECONDS, gates=[login_required], reads=Reads.PERHAPS, holds=False)
def view_agent_output(args: Args, context: ToolContext) -> AgentOutput:
    """See the outputs of an agent's runs: the latest, those of a time range, or one by id; can wait."""
    agent = which_agent(args, context)
    if args.execution_id:
        matches = [by_id(args.execution_id, agent, context)]
        total = 1
    else:
        if agent is None:
            raise ModelRetry(
                "No agent was named.",
                next_step="Give library_agent_id, store_slug, agent_name, or the execution_id of a run.",
            )
        span = (
            read_span(args.run_time, zone=context.user.zone, now=timezone.now()) if args.run_time else LATEST
        )
        rows = runs_of(agent, span, counts_all=args.wait_if_running > 0)
        matches, total = list(rows[: limits.LISTED_EXECUTIONS]), rows.count()
        if not matches:
            raise none_found(agent, span, args)
    newest = matches[0]
    if args.wait_if_running > 0 and not has_news(newest):
        newest = follow_execution(newest, args.wait_if_running, context)
    context.read_outside(*sources_of(newest))
    return answer(newest, [newest, *matches[1:]], total, details=args.show_execution_details)


def which_agent(args: Args, context: ToolContext) -> Agent | None:
    """Return the agent by id, by its name in the store, or by words; None when the call names none."""
    if args.library_agent_id:
        return by_library_id_or_removed(args.library_agent_id, context)
    if args.store_slug:
        return by_store_slug(args.store_slug, context)
    if args.agent_name:
        return by_name(args.agent_name, context)
    return None


def by_id(execution_id: str, agent: Agent | None, context: ToolContext) -> Execution:
    rows = Execution.objects.filter(user=context.user).select_related("agent", "user")
    try:
        found = rows.filter(pk=uuid.UUID(execution_id)).first()
    except ValueError:
        found = None
    if found is None or (agent is not None and found.agent_id != agent.pk):
        whose = f" of the agent {agent.name!r}" if agent is not None else ""
        raise ToolError(f"There is no execution {execution_id!r}{whose}.", code="not_found")
    return found


def runs_of(agent: Agent, span: TimeRange, *, counts_all: bool) -> QuerySet[Execution]:
    """Return the agent's runs, newest first, without those that other agents started."""
    rows = Execution.objects.filter(agent=agent, parent=None, **span.as_filter("queued_at"))
    if not counts_all:
        rows = rows.filter(status=Execution.COMPLETED)
    return rows.select_related("agent", "user").order_by("-queued_at", "-id")


def none_found(agent: Agent, span: TimeRange, args: Args) -> NoResults:
    when = "" if span.is_latest else f" in this time range: {span}"
    kind = "" if args.wait_if_running > 0 else "completed "
    hints = ["Use another run_time, or leave it out for the latest."] if not span.is_latest else []
    if not args.wait_if_running:
        hints.append("Set wait_if_running above 0 to include runs that failed or have not completed.")
    gone = f" {REMOVED}" if agent.deleted_at else ""
    if not gone:
        hints.append("Run it with run_agent.")
    return NoResults(f"The agent {agent.name!r} has no {kind}run{when}.{gone}", hints)


def answer(newest: Execution, matches: list[Execution], total: int, *, details: bool) -> AgentOutput:
    found = output_of(newest, details=details)
    if total == 1:
        return found
    message = f"{total} runs match; the newest is shown in full, {len(matches)} are listed. {found.message}"
    return found.model_copy(
        update={
            "message": message,
            "available_executions": list_executions(matches),
            "total_executions": total,
        }
    )
