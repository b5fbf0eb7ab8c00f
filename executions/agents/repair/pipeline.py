"""All repairs of a graph, in an order in which each prepares the next."""

from __future__ import annotations

from dataclasses import replace

from executions import limits
from executions.agents.repair.converters import insert_converters
from executions.agents.repair.fixes import AppliedFix, Fixed, Repair
from executions.agents.repair.ids import fix_block_ids, fix_link_ids, fix_node_ids
from executions.agents.repair.layout import lay_out
from executions.agents.repair.links import mark_static, remove_dangling, remove_doubles
from executions.agents.repair.missing_blocks import replace_missing
from executions.agents.repair.pins import fix_link_pins, fix_value_names
from executions.agents.repair.values import fill_values, remove_strays
from executions.agents.validation.scope import Scope
from executions.graph import Graph

REPAIRS: tuple[Repair, ...] = (
    fix_node_ids,
    fix_block_ids,
    replace_missing,
    remove_dangling,
    fix_link_pins,
    remove_strays,
    fix_value_names,
    remove_doubles,
    fix_link_ids,
    mark_static,
    fill_values,
    insert_converters,
    lay_out,
)


def fix_graph(graph: Graph, scope: Scope | None = None) -> Fixed:
    """Return the graph with every problem fixed that can be fixed without guessing, and the fixes.

    A graph without problems is not changed, and fixing twice changes nothing more.
    """
    against = scope or Scope()
    fixed, fixes = fix_one(replace(graph, sub_graphs=()), against)
    subs = []
    for sub in graph.sub_graphs:
        fixed_sub, done = fix_graph(sub, against)
        subs.append(fixed_sub)
        fixes += tuple(inside(fix, sub) for fix in done)
    return Fixed(replace(fixed, sub_graphs=tuple(subs)), fixes)


def fix_one(graph: Graph, scope: Scope) -> Fixed:
    """Repeat the repairs until none applies: one may make another possible."""
    done: list[AppliedFix] = []
    for _ in range(limits.MAX_FIX_ROUNDS):
        before = len(done)
        for repair in REPAIRS:
            graph, fixes = repair(graph, scope)
            done.extend(fixes)
        if len(done) == before:
            break
    return Fixed(graph, tuple(done))


def inside(fix: AppliedFix, graph: Graph) -> AppliedFix:
    name = (graph.name or graph.id or "without a name")[:200]
    return replace(fix, sub_agent=fix.sub_agent or name)
