"""run_agent: run an agent from the library or the store, now or on a schedule."""

from __future__ import annotations

import uuid
from typing import Any, Literal

from pydantic import Field, model_validator

from accounts.models import User
from executions import limits as executions_limits
from executions.agents import store
from executions.agents.versions import get_version
from executions.errors import BadInputs
from executions.graph import parse_graph
from executions.models import Agent, AgentVersion, Execution, Schedule, StoreListing
from executions.models.status import PublicStatus
from executions.outside_content import OTHERS_AGENT, sources_of
from executions.schedules.actions import NewSchedule, create
from executions.schedules.run_due import cron_of
from executions.start import ExecutionRequest, start
from tools import limits
from tools.agent_lookup import by_library_id, listing_of
from tools.base import Effect, Reads, ToolArgs, ToolResult, WaitSeconds, tool
from tools.cards import AgentCard, agent_card, agent_link, listing_card
from tools.context import ToolContext
from tools.errors import ToolError, as_tool_errors
from tools.execution_output import (
    AgentOutput,
    describe_status,
    follow_execution,
    next_step,
    open_reviews,
    output_of,
)
from tools.preconditions import login_required
from tools.setup_requirements import (
    InputValidationError,
    SetupRequirements,
    invalid_inputs,
    missing_for_graph,
    setup_requirements,
)

CAP_SECONDS = executions_limits.MAX_TOOL_WAIT_SECONDS + limits.TOOL_SECONDS
UNNAMED_SCHEDULE = "Scheduled in chat"
NOTIFIED = "You are called again when it has ended: tell the user so, and end your answer."


class Args(ToolArgs):
    username_agent_slug: str | None = Field(
        default=None,
        max_length=300,
        description="username/slug in the store; running it adds it to the library.",
    )
    library_agent_id: str | None = Field(default=None, max_length=64)
    inputs: dict[str, Any] | None = Field(default=None, description="Values by input name.")
    use_defaults: bool = Field(
        default=False, description="Run with the agent's default values for inputs that are not given."
    )
    schedule_name: str | None = Field(default=None, max_length=200)
    cron: str | None = Field(
        default=None, max_length=100, description="Five fields: run on this schedule instead of now."
    )
    timezone: str | None = Field(
        default=None, max_length=64, description="Time zone of cron; default: the user's."
    )
    wait_for_result: WaitSeconds = Field(default=0.0, description="Seconds to wait; 0 = only start it.")
    notify: bool = Field(
        default=False,
        description="If it has not ended by then, you are called again when it ends. Do not poll.",
    )

    @model_validator(mode="after")
    def one_agent(self) -> Args:
        if bool(self.username_agent_slug) == bool(self.library_agent_id):
            raise ValueError("give either library_agent_id or username_agent_slug")
        if self.schedule_name and not self.cron:
            raise ValueError("a schedule needs cron, such as `0 9 * * mon-fri`")
        return self


class AgentDetails(ToolResult):
    type: Literal["agent_details"] = "agent_details"
    agent: AgentCard
    input_schema: dict[str, Any]


class ExecutionStarted(ToolResult):
    type: Literal["execution_started"] = "execution_started"
    agent_name: str
    library_agent_id: str
    library_agent_link: str
    execution_id: str | None = None
    status: str
    reviews: list[dict[str, Any]] | None = None
    notify: bool = False
    schedule_id: str | None = None
    cron: str | None = None
    next_run_at: str | None = None


def makes_schedule(args: Args, context: ToolContext) -> bool:
    """Hold only schedules, which last; the nodes of a run ask for approval themselves."""
    return bool(args.cron)


@tool(
    effect=Effect.IDEMPOTENT,
    cap_seconds=CAP_SECONDS,
    gates=[login_required],
    reads=Reads.PERHAPS,
    holds=makes_schedule,
)
def run_agent(
    args: Args, context: ToolContext
) -> AgentDetails | SetupRequirements | InputValidationError | ExecutionStarted | AgentOutput:
    """Run an agent, or schedule it with cron.

    Without inputs and without use_defaults it returns the agent's input schema. wait_for_result waits for the outputs.
    """
    listing = listing_of(args.username_agent_slug) if args.username_agent_slug else None
    version, card = find_version(args, listing, context)
    if listing is not None or version.agent.listing_id:
        context.read_outside(OTHERS_AGENT)
    if not args.inputs and not args.use_defaults and version.input_schema.get("properties"):
        return AgentDetails(
            message=f"The agent {card.name!r} needs inputs.",
            next_step="Call again with `inputs`, or set use_defaults.",
            agent=card,
            input_schema=version.input_schema,
        )
    missing = missing_for_graph(context.user.pk, parse_graph(version.graph))
    if missing:
        return setup_requirements(card.name, missing)
    agent = add_to_library(listing, context.user) if listing else version.agent
    try:
        with as_tool_errors():
            return schedule(agent, args, context) if args.cron else run(agent, args, context)
    except ToolError as error:
        if isinstance(error.__cause__, BadInputs):
            return invalid_inputs(error.__cause__, version.input_schema)
        raise


def find_version(
    args: Args, listing: StoreListing | None, context: ToolContext
) -> tuple[AgentVersion, AgentCard]:
    """Return the version that would run, and its card; a store agent is added only when it runs."""
    if listing is not None:
        version = AgentVersion.objects.select_related("agent").get(pk=listing.published_id)
        return version, listing_card(listing, store.find_copy(context.user, listing))
    agent = by_library_id(args.library_agent_id or "", context)
    with as_tool_errors():
        version = get_version(agent)
    return version, agent_card(agent, version)


def add_to_library(listing: StoreListing, user: User) -> Agent:
    with as_tool_errors():
        agent, _ = store.add_to_library(user, listing.user.username, listing.slug)
    return agent


def run(agent: Agent, args: Args, context: ToolContext) -> ExecutionStarted | AgentOutput:
    """Start the agent once per call, and wait for it if asked to."""
    waits = args.wait_for_result > 0
    order = ExecutionRequest(
        client_id=f"call:{context.key}"[:255],
        source=Execution.Source.CHAT,
        permissions=context.permissions.as_json(),
        session_id=context.session_id,
        tell_session=args.notify and not waits,
        outside_sources=context.outside_sources,
    )
    execution = start(context.user, agent, args.inputs or {}, order).execution
    if waits:
        execution = follow_execution(execution, args.wait_for_result, context, notify=args.notify)
        context.read_outside(*sources_of(execution))
    return result_of(execution, notify=args.notify, waited=waits)


def result_of(execution: Execution, *, notify: bool, waited: bool) -> ExecutionStarted | AgentOutput:
    """Return the outputs if it completed, else its status; raises ToolError if it failed or was cancelled."""
    if execution.status == Execution.COMPLETED:
        return output_of(execution)
    if execution.is_terminal:
        raise ToolError(
            describe_status(execution),
            code="execution_failed" if execution.status == Execution.FAILED else "execution_stopped",
            execution_id=str(execution.pk),
            status=execution.public_status,
            library_agent_id=str(execution.agent_id),
        )
    in_review = execution.public_status == PublicStatus.REVIEW
    shows_status = waited or in_review
    return ExecutionStarted(
        message=describe_status(execution)
        if shows_status
        else f"The agent {execution.agent.name!r} was started.",
        next_step=NOTIFIED if notify and not in_review else next_step(execution),
        agent_name=execution.agent.name,
        library_agent_id=str(execution.agent_id),
        library_agent_link=agent_link(execution.agent_id),
        execution_id=str(execution.pk),
        status=execution.public_status,
        reviews=open_reviews(execution) if in_review else None,
        notify=notify,
    )


# --- schedules --------------------------------------------------------------------------------------


def schedule(agent: Agent, args: Args, context: ToolContext) -> ExecutionStarted:
    """Create the schedule once per call: its id is derived from the call's key."""
    schedule_id = uuid.uuid5(uuid.NAMESPACE_URL, f"schedule:{context.key}")
    made = Schedule.objects.filter(pk=schedule_id).first() or create(
        context.user,
        NewSchedule(
            id=schedule_id,
            agent=agent,
            name=args.schedule_name or UNNAMED_SCHEDULE,
            cron=args.cron or "",
            timezone=args.timezone or "",
            inputs=args.inputs or {},
            session_id=context.session_id,
            permissions=context.permissions.as_json(),
        ),
    )
    return ExecutionStarted(
        message=f"The agent {agent.name!r} is scheduled: {cron_of(made).words}. It always runs the newest version.",
        agent_name=agent.name,
        library_agent_id=str(agent.pk),
        library_agent_link=agent_link(agent.pk),
        status="SCHEDULED",
        schedule_id=str(made.pk),
        cron=made.cron,
        next_run_at=made.next_run_at.isoformat() if made.next_run_at else None,
    )
