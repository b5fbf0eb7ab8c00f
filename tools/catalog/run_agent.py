"""run_agent: run an agent of the library or the store, now or by the clock."""

from __future__ import annotations

import uuid
from typing import Any, Literal

from pydantic import Field, model_validator

from accounts.models import User
from durable import limits
from executions.agents import store
from executions.agents.versions import get_version
from executions.errors import BadInputs
from executions.graph import parse_graph
from executions.models import Agent, AgentVersion, Execution, Schedule, StoreListing
from executions.outside_content import OTHERS_AGENT, sources_of
from executions.schedules.keeping import NewSchedule, create
from executions.schedules.running import cron_of
from executions.starting import Order, start
from tools.agent_choice import by_library_id, listing_of
from tools.base import Effect, Reads, ToolArgs, ToolResult, WaitSeconds, tool
from tools.cards import AgentCard, agent_link, card_of_agent, card_of_listing
from tools.context import ToolContext
from tools.credential_needs import PROVIDERS_LINK, missing_for_graph
from tools.errors import ToolError
from tools.execution_views import AgentOutput, open_reviews, output_of, sentence
from tools.following import follow
from tools.gates import login_required
from tools.needed import InputValidationError, SetupRequirements
from tools.refusals import as_tool_errors

CAP_SECONDS = limits.MAX_TOOL_WAIT_SECONDS + limits.TOOL_SECONDS
UNNAMED_SCHEDULE = "Scheduled in chat"


class Args(ToolArgs):
    username_agent_slug: str | None = Field(
        default=None,
        max_length=300,
        description="username/slug of the store; added to the library when it is run.",
    )
    library_agent_id: str | None = Field(default=None, max_length=64)
    inputs: dict[str, Any] | None = Field(default=None, description="Values by input name.")
    use_defaults: bool = Field(
        default=False, description="Run with the agent's own values for what is not given."
    )
    schedule_name: str | None = Field(default=None, max_length=200)
    cron: str | None = Field(
        default=None, max_length=100, description="Five fields: run by the clock instead of now."
    )
    timezone: str | None = Field(
        default=None, max_length=64, description="Of cron; the user's own unless said."
    )
    wait_for_result: WaitSeconds = Field(default=0.0, description="Seconds; 0 = only start it.")
    notify: bool = Field(
        default=False,
        description="If it has not ended by then, be called again when it has. Then do not poll.",
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
    """A schedule lasts; what a run by itself does outside is asked for node by node."""
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
    """Run an agent, or with cron have it run by the clock.

    Without inputs, and without use_defaults, it answers what the agent takes. wait_for_result waits for the outputs.
    """
    listing = listing_of(args.username_agent_slug) if args.username_agent_slug else None
    version, card = found(args, listing, context)
    if listing is not None or version.agent.listing_id:
        context.read_outside(OTHERS_AGENT)
    if not args.inputs and not args.use_defaults and version.input_schema.get("properties"):
        return AgentDetails(
            message=f"{card.name!r} takes inputs: give them as `inputs`, or set use_defaults.",
            agent=card,
            input_schema=version.input_schema,
        )
    missing = missing_for_graph(context.user.pk, parse_graph(version.graph))
    if missing:
        return SetupRequirements(
            message=f"{card.name!r} needs credentials that are not there: {providers(missing)}. "
            f"Ask the user to add them under {PROVIDERS_LINK}; never ask for them in the chat.",
            name=card.name,
            missing_credentials=missing,
            link=PROVIDERS_LINK,
        )
    agent = bring_in(listing, context.user) if listing else version.agent
    try:
        with as_tool_errors():
            return schedule(agent, args, context) if args.cron else run(agent, args, context)
    except ToolError as error:
        if isinstance(error.__cause__, BadInputs):
            return refused(error.__cause__, version)
        raise


def found(args: Args, listing: StoreListing | None, context: ToolContext) -> tuple[AgentVersion, AgentCard]:
    """The version that would run, and its card; a store agent is not added before it is run."""
    if listing is not None:
        version = AgentVersion.objects.select_related("agent").get(pk=listing.published_id)
        return version, card_of_listing(listing, store.find_copy(context.user, listing))
    agent = by_library_id(args.library_agent_id or "", context)
    with as_tool_errors():
        version = get_version(agent)
    return version, card_of_agent(agent, version)


def bring_in(listing: StoreListing, user: User) -> Agent:
    with as_tool_errors():
        agent, _ = store.add_to_library(user, listing.user.username, listing.slug)
    return agent


def run(agent: Agent, args: Args, context: ToolContext) -> ExecutionStarted | AgentOutput:
    """Start it once per call, and wait for it as long as was asked."""
    waits = args.wait_for_result > 0
    order = Order(
        client_id=f"call:{context.key}"[:255],
        source=Execution.Source.CHAT,
        permissions=context.permissions.as_json(),
        session_id=context.session_id,
        tell_session=args.notify and not waits,
        outside_sources=context.outside_sources,
    )
    execution = start(context.user, agent, args.inputs or {}, order).execution
    if waits:
        execution = follow(execution, args.wait_for_result, context, notify=args.notify)
        context.read_outside(*sources_of(execution))
    return told(execution, notify=args.notify, waited=waits)


def told(execution: Execution, *, notify: bool, waited: bool) -> ExecutionStarted | AgentOutput:
    """Completed: its outputs. Failed or stopped: an error with the reason. Anything else: how it stands."""
    if execution.status == Execution.COMPLETED:
        return output_of(execution)
    if execution.is_terminal:
        raise ToolError(
            sentence(execution),
            code="execution_failed" if execution.status == Execution.FAILED else "execution_stopped",
            execution_id=str(execution.pk),
            status=execution.status,
            library_agent_id=str(execution.agent_id),
        )
    return ExecutionStarted(
        message=message_for(execution, notify=notify, waited=waited),
        agent_name=execution.agent.name,
        library_agent_id=str(execution.agent_id),
        library_agent_link=agent_link(execution.agent_id),
        execution_id=str(execution.pk),
        status=execution.status,
        reviews=open_reviews(execution) if execution.status == Execution.WAITING else None,
        notify=notify,
    )


def message_for(execution: Execution, *, notify: bool, waited: bool) -> str:
    started = (
        sentence(execution)
        if waited or execution.status == Execution.WAITING
        else (
            f"The agent {execution.agent.name!r} was started. "
            f"Look at it with view_agent_output, execution_id={execution.pk}."
        )
    )
    more = " You are called again when it has ended: tell the user so, and end your answer." if notify else ""
    return started + more


# --- by the clock ---------------------------------------------------------------------------------


def schedule(agent: Agent, args: Args, context: ToolContext) -> ExecutionStarted:
    """Make the schedule once per call: its id is made from the call's key."""
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
        message=f"{agent.name!r} is scheduled: {cron_of(made).words}. It follows the newest version of the agent.",
        agent_name=agent.name,
        library_agent_id=str(agent.pk),
        library_agent_link=agent_link(agent.pk),
        status="SCHEDULED",
        schedule_id=str(made.pk),
        cron=made.cron,
        next_run_at=made.next_run_at.isoformat() if made.next_run_at else None,
    )


def refused(error: BadInputs, version: AgentVersion) -> InputValidationError:
    problems = "; ".join(f"{name or 'inputs'}: {text}" for name, text in error.problems.items())
    return InputValidationError(
        message=f"Nothing was run, the inputs do not fit. {problems}",
        problems=error.problems,
        input_schema=version.input_schema,
    )


def providers(missing: list[dict[str, Any]]) -> str:
    return ", ".join(str(one["provider"]) for one in missing)
