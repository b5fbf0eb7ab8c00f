"""Build an agent from a request: decompose, draw, validate, repair, for a limited number of rounds."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from accounts.models import User
from executions import limits
from executions.agents.lookup import find_agents
from executions.agents.repair import fix_graph
from executions.agents.sub_agents import flatten, join_sub_agents
from executions.agents.validation import Problem, Scope, validate
from executions.generator.decompose import decompose, read_questions
from executions.generator.drafts import read_draft
from executions.generator.errors import BadDraft, NotBuilt
from executions.generator.json_answers import read_object
from executions.generator.model import TextModel
from executions.generator.patch import change_graph, keep_unchanged
from executions.generator.prompts import Message, ask_to_draw, ask_to_repair, compact
from executions.generator.requests import (
    AgentRequest,
    Built,
    ClarifyingQuestions,
    ReportProgress,
    Result,
    Steps,
)
from executions.graph import Graph


@dataclass(frozen=True, kw_only=True)
class BuildTools:
    """What building needs besides the request."""

    user: User
    model: TextModel
    scope: Scope
    report: ReportProgress


def build(request: AgentRequest, tools: BuildTools) -> Result:
    """Return the agent, or the questions to answer first. Raises NotBuilt, and what the model raises."""
    if request.base is not None:
        tools.report(0.2, "Changing the agent")
        return draw(request, ask_to_draw(request, None, tools.scope), tools)
    tools.report(0.05, "Splitting the goal into steps")
    plan = decompose(request, tools.model, tools.scope)
    if not isinstance(plan, Steps):
        return plan
    tools.report(0.3, "Drawing the agent")
    return draw(request, ask_to_draw(request, plan, tools.scope), tools)


def draw(request: AgentRequest, messages: list[Message], tools: BuildTools) -> Built | ClarifyingQuestions:
    """Ask the model until its draft can run, for at most MAX_REPAIR_ROUNDS repairs."""
    graph: Graph | None = None
    problems: list[Problem | str] = []
    for round_number in range(limits.MAX_REPAIR_ROUNDS + 1):
        drawn = tools.model.ask(messages)
        try:
            answer = read_object(drawn)
            if questions := read_questions(answer):
                return questions
            graph = read_draft(answer) if request.base is None else change_graph(request.base, answer)
        except BadDraft as error:
            problems = [str(error)]
        else:
            tools.report(0.5 + 0.1 * round_number, "Checking and repairing the agent")
            lost = lost_sources(graph)
            made = check(graph, tools.user, tools.scope)
            if made.report.valid and not lost:
                return replace(made, rounds=round_number)
            graph = made.graph
            problems = [*lost, *made.report.errors[: limits.MAX_SHOWN_PROBLEMS]]
            drawn = json.dumps(compact(graph), ensure_ascii=False) if request.base is None else drawn
        messages = [*messages[:2], *ask_to_repair(drawn, problems, graph, tools.scope)]
    raise NotBuilt(
        f"The agent could not be built: after {limits.MAX_REPAIR_ROUNDS} rounds of repair it still cannot run.",
        draft=graph,
        problems=[problem for problem in problems if isinstance(problem, Problem)],
    )


def lost_sources(graph: Graph) -> list[str]:
    """Describe links from missing nodes: without them the agent might run, but not do what was asked for."""
    return [
        f"A link feeds {link.sink_name!r} of the node {link.sink_id!r} from {link.source_id!r}, which does not exist."
        for link in graph.links
        if link.source_id not in graph.nodes_by_id and link.sink_id in graph.nodes_by_id
    ]


def check(graph: Graph, user: User, scope: Scope) -> Built:
    """Return the graph after all safe repairs, linked to the agents it runs, with its validation report."""
    library = find_agents(user, (graph, *flatten(graph)), scope.registry)
    against = replace(scope, find_agent=library.find)
    fixed, fixes = fix_graph(join_sub_agents(graph, library.find, scope.registry), against)
    return Built(graph=fixed, report=validate(fixed, against), fixes=tuple(fixes))


def finish(graph: Graph, request: AgentRequest, tools: BuildTools) -> Built | ClarifyingQuestions:
    """Return a graph that was built elsewhere, repaired by the model if it cannot run."""
    made = check(graph, tools.user, tools.scope)
    if made.report.valid:
        return made
    anew = replace(request, base=None)
    drawn = json.dumps(compact(made.graph), ensure_ascii=False)
    problems = list(made.report.errors[: limits.MAX_SHOWN_PROBLEMS])
    opening = ask_to_draw(anew, None, tools.scope)
    repaired = draw(anew, [*opening, *ask_to_repair(drawn, problems, made.graph, tools.scope)], tools)
    if request.base is None or not isinstance(repaired, Built):
        return repaired
    return replace(repaired, graph=keep_unchanged(request.base, repaired.graph))
