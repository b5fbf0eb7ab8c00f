"""Building an agent from a wish: decompose, draw, check, mend; a few rounds, then the truth."""

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
from executions.generator.prompts import Message, ask_to_draw, ask_to_mend, compact
from executions.generator.requests import AgentRequest, Built, ClarifyingQuestions, Result, Steps, Tell
from executions.graph import Graph


@dataclass(frozen=True, kw_only=True)
class BuildTools:
    """What building needs besides the wish."""

    user: User
    asker: TextModel
    scope: Scope
    tell: Tell


def build(wish: AgentRequest, shop: BuildTools) -> Result:
    """The agent, or what must be known first. Raises NotBuilt, and whatever the asker raises."""
    if wish.base is not None:
        shop.tell(0.2, "Changing the agent")
        return draw(wish, ask_to_draw(wish, None, shop.scope), shop)
    shop.tell(0.05, "Taking the goal apart")
    plan = decompose(wish, shop.asker, shop.scope)
    if not isinstance(plan, Steps):
        return plan
    shop.tell(0.3, "Drawing the agent")
    return draw(wish, ask_to_draw(wish, plan, shop.scope), shop)


def draw(wish: AgentRequest, messages: list[Message], shop: BuildTools) -> Built | ClarifyingQuestions:
    """Ask until what is drawn can run, at most so many times."""
    graph: Graph | None = None
    problems: list[Problem | str] = []
    for round_number in range(limits.MAX_REPAIR_ROUNDS + 1):
        drawn = shop.asker.ask(messages)
        try:
            answer = read_object(drawn)
            if questions := read_questions(answer):
                return questions
            graph = read_draft(answer) if wish.base is None else change_graph(wish.base, answer)
        except BadDraft as error:
            problems = [str(error)]
        else:
            shop.tell(0.5 + 0.1 * round_number, "Checking and mending it")
            lost = lost_sources(graph)
            made = check(graph, shop.user, shop.scope)
            if made.report.valid and not lost:
                return replace(made, rounds=round_number)
            graph = made.graph
            problems = [*lost, *made.report.errors[: limits.MAX_SHOWN_PROBLEMS]]
            drawn = json.dumps(compact(graph), ensure_ascii=False) if wish.base is None else drawn
        messages = [*messages[:2], *ask_to_mend(drawn, problems, graph, shop.scope)]
    raise NotBuilt(
        f"The agent could not be built: after {limits.MAX_REPAIR_ROUNDS} rounds of repair it still cannot run.",
        draft=graph,
        problems=[problem for problem in problems if isinstance(problem, Problem)],
    )


def lost_sources(graph: Graph) -> list[str]:
    """Links from nodes that were not drawn: without them the agent might run, but not do what was wished for."""
    return [
        f"A link feeds {link.sink_name!r} of the node {link.sink_id!r} from {link.source_id!r}, which is not drawn."
        for link in graph.links
        if link.source_id not in graph.nodes_by_id and link.sink_id in graph.nodes_by_id
    ]


def check(graph: Graph, user: User, scope: Scope) -> Built:
    """A graph after all safe repairs, joined to the agents it runs, with what validation says of it then."""
    library = find_agents(user, (graph, *flatten(graph)), scope.registry)
    against = replace(scope, find_agent=library.find)
    fixed, fixes = fix_graph(join_sub_agents(graph, library.find, scope.registry), against)
    return Built(graph=fixed, report=validate(fixed, against), fixes=tuple(fixes))


def finish(graph: Graph, wish: AgentRequest, shop: BuildTools) -> Built | ClarifyingQuestions:
    """A graph somebody else drew: as it is when it can run, else mended by the model."""
    made = check(graph, shop.user, shop.scope)
    if made.report.valid:
        return made
    anew = replace(wish, base=None)
    drawn = json.dumps(compact(made.graph), ensure_ascii=False)
    problems = list(made.report.errors[: limits.MAX_SHOWN_PROBLEMS])
    opening = ask_to_draw(anew, None, shop.scope)
    mended = draw(anew, [*opening, *ask_to_mend(drawn, problems, made.graph, shop.scope)], shop)
    if wish.base is None or not isinstance(mended, Built):
        return mended
    return replace(mended, graph=keep_unchanged(wish.base, mended.graph))
