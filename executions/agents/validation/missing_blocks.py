"""Blocks that a graph uses and that are not installed: named for people, each once, with what can take their place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from blocks.foreign_blocks import TRIGGER, find_foreign, find_replacement, host_of, nearest_block
from executions.agents.validation.problems import Code, MissingBlock, Problem
from executions.graph import Node


def missing_block(node: Node) -> Problem:
    """Return the problem of one node whose block is not installed."""
    if not node.block_id:
        return Problem(
            code=Code.UNKNOWN_BLOCK,
            message="A step of the agent does not say which block it uses. Choose one.",
            node_id=node.id,
        )
    return describe(missing_in(node), node.id)


def missing_in(node: Node) -> MissingBlock:
    foreign = find_foreign(node.block_id)
    own = node.metadata.get("customized_name") or node.extra.get("block_name")
    name = foreign.label if foreign else own[:80] if isinstance(own, str) and own else node.block_id[:100]
    return MissingBlock(
        id=node.block_id[:100],
        name=name,
        provider=foreign.provider if foreign else "",
        node_ids=(node.id,),
        nearest=nearest_block(node.block_id),
        replaceable=find_replacement(node.block_id) is not None,
    )


def describe(block: MissingBlock, node_id: str) -> Problem:
    """Return the problem in a person's words: what is missing, how often, and where to get it."""
    count = len(block.node_ids)
    used = f", used by {count} nodes," if count > 1 else ""
    message = f"{block.name}{used} is not installed here. {advice(block)}"
    return Problem(code=Code.UNKNOWN_BLOCK, message=message, node_id=node_id, missing=block)


def advice(block: MissingBlock) -> str:
    if block.replaceable:
        replacement = find_replacement(block.id)
        caveat = f" {replacement.caveat}" if replacement and replacement.caveat else ""
        return f"{block.nearest} can take its place when the agent is repaired.{caveat}"
    if block.nearest == TRIGGER:
        return (
            f"Begin with the block {TRIGGER} and let {block.provider} call its address, or ask the operator to "
            "install the missing block."
        )
    if block.nearest:
        credential = f"a credential for {host_of(block.provider) or 'it'}"
        return (
            f"Reach {block.provider} with the block {block.nearest} and {credential}, with the block MCP Tool "
            "if it has an MCP server, or ask the operator to install the missing block."
        )
    return "Put another block in its place, or ask the operator to install it."


def once_each(problems: Sequence[Problem]) -> list[Problem]:
    """Return the problems with each missing block once, where it is first met, for all nodes that use it."""
    nodes: dict[str, list[str]] = {}
    for problem in problems:
        if problem.missing is not None:
            nodes.setdefault(problem.missing.id, []).extend(problem.missing.node_ids)
    shown: list[Problem] = []
    for problem in problems:
        missing = problem.missing
        if missing is None:
            shown.append(problem)
        elif users := nodes.pop(missing.id, None):
            shown.append(with_users(problem, missing, tuple(users)))
    return shown


def with_users(problem: Problem, missing: MissingBlock, users: tuple[str, ...]) -> Problem:
    if len(users) == 1:
        return problem
    return describe(replace(missing, node_ids=users), problem.node_id)
