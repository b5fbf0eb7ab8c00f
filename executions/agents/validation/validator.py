"""Validation of a graph and its sub-graphs with all checks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from executions.agents.sub_agents import Signature, flatten, signature_of
from executions.agents.validation.cycles import check_starting
from executions.agents.validation.links import check_links
from executions.agents.validation.missing_blocks import once_each
from executions.agents.validation.nodes import (
    check_blocks,
    check_ids,
    check_names,
    check_positions,
    check_required,
    check_whole,
)
from executions.agents.validation.problems import Problem, ValidationReport, make_report
from executions.agents.validation.scope import Checked, Scope
from executions.agents.validation.sub_agents import check_sub_agents
from executions.agents.validation.values import check_values
from executions.graph import Graph

CHECKS = (
    check_whole,
    check_ids,
    check_blocks,
    check_required,
    check_values,
    check_links,
    check_starting,
    check_sub_agents,
    check_names,
    check_positions,
)


def validate(graph: Graph, scope: Scope | None = None) -> ValidationReport:
    """Report the problems of a graph and its sub-graphs, in time linear in their size."""
    return make_report(once_each(list(find_problems(graph, scope or Scope()))))


def find_problems(graph: Graph, scope: Scope) -> Iterator[Problem]:
    subs = flatten(graph)
    embedded = tuple(signature_of(sub, scope.registry) for sub in subs)
    root = signature_of(graph, scope.registry)
    yield from check(Checked(graph=graph, scope=scope, embedded=embedded, root=root))
    for sub, signature in zip(subs, embedded, strict=True):
        checked = Checked(graph=sub, scope=scope, embedded=embedded, signature=signature, root=root)
        yield from (inside(problem, signature) for problem in check(checked))


def check(checked: Checked) -> Iterator[Problem]:
    for one in CHECKS:
        yield from one(checked)


def inside(problem: Problem, agent: Signature) -> Problem:
    name = agent.name or agent.id or "without a name"
    message = f"In the sub-agent {name[:80]!r}: {problem.message}"
    return replace(problem, message=message, sub_agent=name[:200])
