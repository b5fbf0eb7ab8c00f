"""Checks of single nodes: id, block, required inputs, names and positions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TypeGuard

from blocks.base import Block, BlockType
from blocks.pins import SEPARATOR
from blocks.schema import JSON
from executions import limits
from executions.agents.validation.missing_blocks import missing_block
from executions.agents.validation.problems import Code, Problem
from executions.agents.validation.scope import Checked
from executions.graph import Node

NOT_RUN = frozenset({BlockType.NOTE})
FARTHEST = 1e9


def check_ids(checked: Checked) -> Iterator[Problem]:
    seen: Counter[str] = Counter()
    for number, node in enumerate(checked.graph.nodes):
        seen[node.id] += 1
        if not node.id:
            message = f"nodes[{number}] has no id. Give it one."
            yield Problem(code=Code.MISSING_ID, message=message)
        elif len(node.id) > limits.MAX_AGENT_ID_CHARACTERS:
            most = limits.MAX_AGENT_ID_CHARACTERS
            message = f"The id of nodes[{number}] has more than {most} characters. Shorten it."
            yield Problem(code=Code.BAD_ID, message=message, node_id=node.id[:100])
        elif seen[node.id] == 2:
            message = f"Several nodes have the id {node.id!r}. Give each its own."
            yield Problem(code=Code.DUPLICATE_ID, message=message, node_id=node.id)


def check_blocks(checked: Checked) -> Iterator[Problem]:
    registry, may_use = checked.scope.registry, checked.scope.may_use
    for node in checked.graph.nodes:
        if node.block_id not in registry:
            yield missing_block(node)
        elif not may_use(block := registry.get(node.block_id)):
            message = f"The block {block.name!r} is not allowed in this session. Use another block."
            yield Problem(code=Code.BLOCK_DENIED, message=message, node_id=node.id)


def check_whole(checked: Checked) -> Iterator[Problem]:
    """Check that the graph has something to run, and warn if it has no inputs or outputs."""
    working = [node for node, block in checked.known_nodes() if block.type not in NOT_RUN]
    if not working and all(node.block_id in checked.scope.registry for node in checked.graph.nodes):
        message = "The agent has nothing to run. Add at least one block that is not a note."
        yield Problem(code=Code.NOTHING_TO_RUN, message=message)
        return
    if not any(checked.of_type(BlockType.INPUT, BlockType.WEBHOOK_MANUAL)):
        message = "The agent has no inputs. Add an Agent Input for each value that varies from run to run."
        yield Problem(code=Code.NO_INPUT, message=message)
    if not any(checked.of_type(BlockType.OUTPUT)):
        message = "The agent has no outputs. Add an Agent Output for each result people should see."
        yield Problem(code=Code.NO_OUTPUT, message=message)


def check_required(checked: Checked) -> Iterator[Problem]:
    """Check for required inputs without a value or a link."""
    for node, block in checked.known_nodes():
        filled = filled_pins(checked, node)
        for pin in block.input_pins:
            if (
                pin.required
                and not pin.provided
                and pin.name not in filled
                and not asked_elsewhere(block, pin.name)
            ):
                need = f"{checked.title(node.id)} needs the input {pin.name!r} ({pin.type})"
                message = f"{need}. Give it a value or link it."
                yield Problem(code=Code.MISSING_INPUT, message=message, node_id=node.id, pin=pin.name)


def asked_elsewhere(block: Block, pin: str) -> bool:
    """Return whether another check covers the pin: an Agent Executor is checked with the agent it runs."""
    return block.type is BlockType.AGENT and pin in (
        "graph_id",
        "graph_version",
        "input_schema",
        "output_schema",
    )


def filled_pins(checked: Checked, node: Node) -> set[str]:
    """Return the current names of pins that have a value or a link, or a part of one."""
    pins = checked.pins[node.id]
    names = [name for name, value in node.input_default.items() if value is not None]
    names += [link.sink_name for link in checked.graph.links_into(node.id)]
    current = {pins.current_name(name) for name in names}
    return current | {SEPARATOR.split(name, maxsplit=1)[0] for name in current}


def check_names(checked: Checked) -> Iterator[Problem]:
    """Check for inputs that share a name."""
    names = Counter(
        name
        for node in checked.of_type(BlockType.INPUT)
        if isinstance(name := node.input_default.get("name"), str) and name
    )
    for name, times in names.items():
        if times > 1:
            message = f"{times} inputs are named {name!r}: each gets the same value. Give each its own name."
            yield Problem(code=Code.DUPLICATE_INPUT_NAME, message=message, pin=name[:200])


def check_positions(checked: Checked) -> Iterator[Problem]:
    """Yield one warning for all nodes without a position of their own."""
    lost = unplaced(checked.graph.nodes)
    if lost:
        message = (
            f"{len(lost)} of {len(checked.graph.nodes)} nodes have no position of their own on the canvas."
        )
        yield Problem(code=Code.NO_POSITION, message=message)


def unplaced(nodes: tuple[Node, ...]) -> list[int]:
    """Return the indexes of nodes without a position, or on top of an earlier one."""
    taken: set[tuple[float, float]] = set()
    lost = []
    for number, node in enumerate(nodes):
        place = position_of(node)
        if place is None or place in taken:
            lost.append(number)
        else:
            taken.add(place)
    return lost


def position_of(node: Node) -> tuple[float, float] | None:
    position = node.metadata.get("position")
    if not isinstance(position, dict):
        return None
    x, y = position.get("x"), position.get("y")
    return (float(x), float(y)) if is_coordinate(x) and is_coordinate(y) else None


def is_coordinate(value: JSON) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < FARTHEST
