"""Build agents in an operation: from a request to a saved agent, a preview, questions or a better goal.

Once per call: the id of the saved version is derived from the call's key, so a second attempt finds it.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from django.conf import settings
from django.db import IntegrityError

import llm
from accounts.errors import OverBudget
from blocks.registry import get_registry
from durable import crashpoints
from durable.database import in_transaction
from executions import limits
from executions.agents.agent_import import import_graph, name_of
from executions.agents.agent_json import read_agent_json
from executions.agents.errors import AgentError
from executions.agents.library import change_agent
from executions.agents.save import Stored, Storing
from executions.agents.secrets import remove_secrets
from executions.agents.validation import Scope
from executions.agents.versions import save_parsed
from executions.drafts.proposals import propose
from executions.generator.build import BuildTools, build, check, finish
from executions.generator.errors import BadDraft, ExternalGeneratorFailed, NotBuilt
from executions.generator.external import Accepted, ExternalGenerator, ExternalJob, configured, read_built
from executions.generator.json_answers import read_object
from executions.generator.model import ConfiguredModel
from executions.generator.requests import AgentRequest, BetterGoal, Built, ClarifyingQuestions, Result, Steps
from executions.graph import Graph, graph_to_json
from executions.models import Agent, AgentVersion
from tools.agent_lookup import SimilarAgents
from tools.base import Effect, OutsideAnswer, ToolArgs
from tools.builder_results import (
    AgentPreview,
    AgentProposed,
    AgentSaved,
    ClarificationNeeded,
    SuggestedGoal,
    ask,
    preview,
    proposed,
    saved,
    suggest,
)
from tools.context import ToolContext
from tools.errors import AcceptedElsewhere, ModelRetry, ToolCancelled, ToolError, as_tool_errors
from tools.operations.context import OperationContext
from tools.permissions import block_rule

BuildResult = AgentSaved | AgentProposed | AgentPreview | ClarificationNeeded | SuggestedGoal
AgentJson: TypeAlias = dict[str, Any] | str  # models also write it as text
ExternalBuild = Callable[
    [ExternalGenerator, AgentRequest, ExternalJob], "Graph | ClarifyingQuestions | BetterGoal | Accepted"
]


@dataclass(frozen=True, kw_only=True)
class BuildRequest:
    """One call of create_agent, edit_agent or customize_agent."""

    request: AgentRequest
    save: bool
    external_build: ExternalBuild
    agent: Agent | None = None  # the agent that gets a new version
    is_proposal: bool = False  # of its draft, which is open beside the conversation
    source: str = Agent.Source.GENERATED
    notes: tuple[str, ...] = ()
    similar: SimilarAgents = field(default_factory=SimilarAgents)


def building(request: Callable[[Any, OperationContext], BuildRequest]) -> dict[str, Any]:
    """Return the declaration that tools which build agents share; `request` makes one of their arguments."""

    def receive(args: ToolArgs, answer: OutsideAnswer, context: OperationContext) -> BuildResult:
        return build_from_answer(request(args, context), answer, context)

    def lookup(args: ToolArgs, context: OperationContext) -> AgentSaved | None:
        return find_saved(context)

    return {
        "effect": Effect.EFFECTFUL,
        "long_running": True,
        "lookup": lookup,
        "receive": receive,
        "holds": False,
    }


def build_agent(order: BuildRequest, context: OperationContext) -> BuildResult:
    """Build by the external generator if one is configured; otherwise, or if it fails, by the site's model."""
    try:
        service = configured(context.cancelled)
        if service is None:
            return result_of(order, build_here(order, context), context)
        context.progress(0.05, "Asking the external generator")
        built = order.external_build(service, order.request, external_job(context))
    except ExternalGeneratorFailed as error:
        context.stop_if_cancelled()
        return result_of(with_note(order, error), build_here(order, context), context)
    if isinstance(built, Accepted):
        raise AcceptedElsewhere(
            "The external generator is building the agent.",
            wait_seconds=settings.AGENT_GENERATOR_TIMEOUT_SECONDS,
        )
    return result_of(order, finish_here(order, built, context), context)


def build_from_answer(order: BuildRequest, answer: OutsideAnswer, context: OperationContext) -> BuildResult:
    """Finish with the external generator's later answer; build here if it failed or is unusable."""
    try:
        built = read_built(answer.unwrap())
    except (ExternalGeneratorFailed, ToolError) as error:
        return result_of(with_note(order, error), build_here(order, context), context)
    return result_of(order, finish_here(order, built, context), context)


def build_from_json(order: BuildRequest, graph: Graph, context: OperationContext) -> BuildResult:
    """Repair an agent that the model wrote as JSON where that is safe, and save it only if it can run."""
    context.progress(0.3, "Checking and repairing the agent")
    made = check(graph, context.user, scope_for(context))
    if not made.report.valid:
        raise ToolError(
            f"The agent cannot run yet: {made.report.errors[0].message}",
            code="invalid_agent",
            next_step="Correct the agent_json and call again.",
            problems=[problem.as_json() for problem in made.report.errors],
            agent_json=without_secrets(made.graph),
        )
    return result_of(order, made, context)


def find_saved(context: OperationContext) -> AgentSaved | None:
    """Return what an earlier attempt of the same call saved, or None."""
    rows = AgentVersion.objects.select_related("agent").filter(agent__user=context.user_id)
    version = rows.filter(pk=version_id(context)).first()
    return saved(version) if version else None


# --- building here or externally --------------------------------------------------------------------------


def build_here(order: BuildRequest, context: OperationContext) -> Result:
    with model_errors():
        return build(order.request, build_tools(context))


def finish_here(
    order: BuildRequest, built: Graph | ClarifyingQuestions | BetterGoal, context: OperationContext
) -> Result:
    if not isinstance(built, Graph):
        return built
    with model_errors():
        return finish(built, order.request, build_tools(context))


def build_tools(context: OperationContext) -> BuildTools:
    user = context.user
    model = ConfiguredModel(user, key=context.key, job_id=context.operation_id, cancelled=context.cancelled)

    def report(fraction: float, message: str) -> None:
        context.stop_if_cancelled()
        context.progress(min(fraction, 0.9), message)

    return BuildTools(user=user, model=model, scope=scope_for(context), report=report)


@contextmanager
def model_errors() -> Iterator[None]:
    """Turn errors of the model into ToolErrors."""
    try:
        yield
    except NotBuilt as error:
        first = f" {error.problems[0].message}" if error.problems else ""
        details: dict[str, Any] = {"problems": [problem.as_json() for problem in error.problems]}
        if error.draft is not None:
            details["agent_json"] = without_secrets(error.draft)
        raise ToolError(f"{error}{first}", code="not_built", **details) from error
    except OverBudget as error:
        raise ToolError(error.advice, code="over_budget") from error
    except llm.AnswerCancelled:
        raise ToolCancelled from None
    except llm.LLMError as error:
        raise ToolError(f"The agent was not built. {error.user_message}", code="model_error") from error


def external_job(context: OperationContext) -> ExternalJob:
    return ExternalJob(
        operation_id=str(context.operation_id),
        task_id=str(context.task_id),
        completion_url=context.completion_url,
        secret=context.secret,
    )


def with_note(order: BuildRequest, error: Exception) -> BuildRequest:
    return replace(
        order, notes=(*order.notes, f"{sentence(str(error))} This site's own model built it instead.")
    )


def sentence(text: str) -> str:
    """Return the text with an end, since a service's own words may have none."""
    words = " ".join(text.split())
    return words if words.endswith((".", "!", "?")) else f"{words}."


# --- the result --------------------------------------------------------------------------------------


def result_of(order: BuildRequest, result: Result, context: OperationContext) -> BuildResult:
    """Return the tool's result; save the agent unless only a preview was asked for."""
    if isinstance(result, ClarifyingQuestions):
        return ask(result)
    if isinstance(result, BetterGoal):
        return suggest(result, order.request.goal)
    if not order.save:
        return preview(result, order.notes, similar=order.similar.cards())
    context.stop_if_cancelled()
    if order.is_proposal and order.agent and order.request.base:
        propose(
            order.agent,
            order.request.base,
            result.graph,
            summary=order.request.goal,
            key=str(version_id(context)),
        )
        return proposed(order.agent, result, order.notes)
    context.progress(0.95, "Saving the agent")
    version = save_once(order, result, context)
    crashpoints.reached("agent_saved")
    return saved(version, fixes=result.fixes, notes=order.notes, similar=order.similar.cards())


def save_once(order: BuildRequest, built: Built, context: OperationContext) -> AgentVersion:
    """Save the agent once per call. If that fails, the error carries its JSON so that nothing is lost."""
    how = Storing(
        may_use=scope_for(context).may_use,
        note=order.request.goal[:500],
        outside_sources=context.outside_sources,
        version_id=version_id(context),
    )
    try:
        with as_tool_errors():
            return save_graph(order, built, how, context).version
    except IntegrityError:
        found = AgentVersion.objects.select_related("agent").filter(pk=version_id(context)).first()
        if found is None:
            raise
        return found
    except ToolError as error:
        raise ToolError(
            f"The agent was built, but not saved: {error.message}",
            code="not_saved",
            agent_json=without_secrets(built.graph),
        ) from error


def save_graph(order: BuildRequest, built: Built, how: Storing, context: OperationContext) -> Stored:
    if order.agent is None:
        return import_graph(context.user, built.graph, source=order.source, how=how)
    return save_and_rename(order.agent, built, how)


@in_transaction
def save_and_rename(agent: Agent, built: Built, how: Storing) -> Stored:
    stored = save_parsed(agent, built.graph, on_version=agent.latest_version, how=how)
    rename(stored.agent, built.graph)
    return stored


def rename(agent: Agent, graph: Graph) -> None:
    """Name and describe the agent like its new graph: versions have no name of their own."""
    wanted = {
        "name": name_of(graph),
        "description": graph.description[: limits.MAX_AGENT_DESCRIPTION_CHARACTERS],
    }
    changed = {field: value for field, value in wanted.items() if getattr(agent, field) != value}
    if changed:
        change_agent(agent, **changed)


def version_id(context: OperationContext) -> uuid.UUID:
    return uuid.uuid5(uuid.NAMESPACE_URL, f"agent-version:{context.key}")


def without_secrets(graph: Graph) -> dict[str, Any]:
    clean, _ = remove_secrets(graph, get_registry())
    return graph_to_json(clean)


def decompose_and_generate(service: ExternalGenerator, request: AgentRequest, job: ExternalJob) -> Any:
    """Have the external generator split the goal into steps, then build the agent from them."""
    plan = service.decompose(request)
    return service.generate(request, plan, job) if isinstance(plan, Steps) else plan


# --- agent JSON -----------------------------------------------------------------------------------


def read_agent(data: AgentJson) -> Graph:
    """Return the graph; raises ModelRetry when the JSON is not an agent."""
    try:
        return read_agent_json(read_object(data) if isinstance(data, str) else data)
    except (AgentError, BadDraft) as error:
        raise ModelRetry(f"agent_json: {error}") from None


def scope_for(context: ToolContext) -> Scope:
    """Return the blocks that graphs of this session may use."""
    return Scope(may_use=block_rule(context.permissions))
