"""Building agents in an operation: from the wish to a saved agent, a preview, questions or a better goal.

Once per call: the version that is saved has an id made from the call's key, so a second attempt finds the first's.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings
from django.db import IntegrityError

import llm
from accounts.errors import OverBudget
from durable import crashpoints, limits
from durable.retrying import in_transaction
from executions.agents.importing import import_graph, name_of
from executions.agents.library import change_agent
from executions.agents.secrets import remove_secrets
from executions.agents.storing import Stored, Storing
from executions.agents.versions import save_parsed
from executions.blocks.registry import get_registry
from executions.generator.asking import ConfiguredModel
from executions.generator.building import Workshop, build, check, finish
from executions.generator.errors import NotBuilt, OutsideFailed
from executions.generator.outside import Accepted, OutsideGenerator, Ticket, configured, read_built
from executions.generator.wishes import BetterGoal, Built, Questions, Result, Steps, Wish
from executions.graph import Graph, graph_to_json
from executions.models import Agent, AgentVersion
from tools.agent_json import scope_for
from tools.built_agents import (
    AgentPreview,
    AgentSaved,
    ClarificationNeeded,
    SuggestedGoal,
    ask,
    preview,
    saved,
    suggest,
)
from tools.errors import AcceptedElsewhere, Cancelled, ToolError
from tools.operations.context import OperationContext
from tools.outside import OutsideAnswer
from tools.refusals import as_tool_errors, words_of

Made = AgentSaved | AgentPreview | ClarificationNeeded | SuggestedGoal
Hand = Callable[[OutsideGenerator, Wish, Ticket], "Graph | Questions | BetterGoal | Accepted"]


@dataclass(frozen=True, kw_only=True)
class Order:
    """One call of a building tool, whatever its name."""

    wish: Wish
    save: bool
    hand_over: Hand
    agent: Agent | None = None  # the one that gets a new version
    source: str = Agent.Source.GENERATED
    notes: tuple[str, ...] = ()


def make(order: Order, context: OperationContext) -> Made:
    """Have it built: outside when the site names a service, else, or when that fails, by the site's model."""
    service = configured()
    if service is None:
        return deliver(order, build_here(order, context), context)
    try:
        context.progress(0.05, "Asking the outside generator")
        built = order.hand_over(service, order.wish, ticket_of(context))
    except OutsideFailed as error:
        return deliver(noted(order, error), build_here(order, context), context)
    if isinstance(built, Accepted):
        raise AcceptedElsewhere(
            "The outside generator builds it.", wait_seconds=settings.AGENT_GENERATOR_TIMEOUT_SECONDS
        )
    return deliver(order, finished(order, built, context), context)


def make_of_answer(order: Order, answer: OutsideAnswer, context: OperationContext) -> Made:
    """What the outside answered later; its failure, silence or nonsense is made up for here."""
    try:
        built = read_built(answer.unwrap())
    except (OutsideFailed, ToolError) as error:
        return deliver(noted(order, error), build_here(order, context), context)
    return deliver(order, finished(order, built, context), context)


def make_of_json(order: Order, graph: Graph, context: OperationContext) -> Made:
    """An agent the model drew itself: mended where that is safe, saved only when it can run."""
    context.progress(0.3, "Checking and mending it")
    made = check(graph, context.user, scope_for(context))
    if not made.report.valid:
        raise ToolError(
            f"The agent cannot run yet: {made.report.errors[0].message} Mend it and call again.",
            code="invalid_agent",
            problems=[problem.as_json() for problem in made.report.errors],
            agent_json=without_secrets(made.graph),
        )
    return deliver(order, made, context)


def find_made(context: OperationContext) -> AgentSaved | None:
    """What an earlier attempt of the same call saved."""
    rows = AgentVersion.objects.select_related("agent").filter(agent__user=context.user_id)
    version = rows.filter(pk=version_id(context)).first()
    return saved(version) if version else None


# --- built here or there --------------------------------------------------------------------------


def build_here(order: Order, context: OperationContext) -> Result:
    with model_errors():
        return build(order.wish, workshop(context))


def finished(order: Order, built: Graph | Questions | BetterGoal, context: OperationContext) -> Result:
    if not isinstance(built, Graph):
        return built
    with model_errors():
        return finish(built, order.wish, workshop(context))


def workshop(context: OperationContext) -> Workshop:
    user = context.user
    asker = ConfiguredModel(user, key=context.key, job_id=context.operation_id, cancelled=context.cancelled)

    def tell(fraction: float, message: str) -> None:
        context.stop_if_cancelled()
        context.progress(min(fraction, 0.9), message)

    return Workshop(user=user, asker=asker, scope=scope_for(context), tell=tell)


@contextmanager
def model_errors() -> Iterator[None]:
    """What can go wrong with the model, in words for the one that asked."""
    try:
        yield
    except NotBuilt as error:
        first = f" {error.problems[0].message}" if error.problems else ""
        details: dict[str, Any] = {"problems": [problem.as_json() for problem in error.problems]}
        if error.draft is not None:
            details["agent_json"] = without_secrets(error.draft)
        raise ToolError(f"{error}{first}", code="not_built", **details) from error
    except OverBudget as error:
        raise ToolError(words_of(error), code="over_budget") from error
    except llm.Cancelled:
        raise Cancelled from None
    except llm.LLMError as error:
        raise ToolError(f"The agent was not built. {error.user_message}", code="model_error") from error


def ticket_of(context: OperationContext) -> Ticket:
    return Ticket(
        operation_id=str(context.operation_id),
        task_id=str(context.task_id),
        completion_url=context.completion_url,
        secret=context.secret,
    )


def noted(order: Order, error: Exception) -> Order:
    return replace(order, notes=(*order.notes, f"{error} It was built by this site's own model instead."))


# --- delivered --------------------------------------------------------------------------------------


def deliver(order: Order, result: Result, context: OperationContext) -> Made:
    """The result as the model reads it; an agent is saved, or only shown."""
    if isinstance(result, Questions):
        return ask(result)
    if isinstance(result, BetterGoal):
        return suggest(result, order.wish.goal)
    if not order.save:
        return preview(result, order.notes)
    context.stop_if_cancelled()
    context.progress(0.95, "Saving it")
    version = keep(order, result, context)
    crashpoints.reached("agent_saved")
    return saved(version, fixes=result.fixes, notes=order.notes)


def keep(order: Order, built: Built, context: OperationContext) -> AgentVersion:
    """Save it, once per call. What cannot be saved is not lost: the error holds the JSON."""
    how = Storing(
        may_use=scope_for(context).may_use,
        note=order.wish.goal[:500],
        outside_sources=context.outside_sources,
        version_id=version_id(context),
    )
    try:
        with as_tool_errors():
            return store(order, built, how, context).version
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


def store(order: Order, built: Built, how: Storing, context: OperationContext) -> Stored:
    if order.agent is None:
        return import_graph(context.user, built.graph, source=order.source, how=how)
    return save_and_rename(order.agent, built, how)


@in_transaction
def save_and_rename(agent: Agent, built: Built, how: Storing) -> Stored:
    stored = save_parsed(agent, built.graph, on_version=agent.latest_version, how=how)
    rename(stored.agent, built.graph)
    return stored


def rename(agent: Agent, graph: Graph) -> None:
    """The name and description are the agent's own, not its versions'."""
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


def steps_or_result(service: OutsideGenerator, wish: Wish, ticket: Ticket) -> Any:
    """Take the goal apart outside, then have it built from the steps."""
    plan = service.decompose(wish)
    return service.generate(wish, plan, ticket) if isinstance(plan, Steps) else plan
