"""Checks of nodes that run other agents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from blocks.base import BlockType
from executions.agents.pins import properties_of
from executions.agents.sub_agents import Signature, read_reference
from executions.agents.validation.problems import Code, Problem
from executions.agents.validation.scope import Checked
from executions.graph import Node


def check_sub_agents(checked: Checked) -> Iterator[Problem]:
    for node in checked.of_type(BlockType.AGENT):
        reference = read_reference(node)
        found = checked.find_agent(reference)
        if found is not None:
            yield from check_found(checked, node, found)
        elif not reference.graph_id:
            message = f"{checked.title(node.id)} does not say which agent to run. Give its id as graph_id."
            yield Problem(code=Code.SUB_AGENT_WITHOUT_ID, message=message, node_id=node.id, pin="graph_id")
        else:
            name = f" ({reference.name[:80]!r})" if reference.name else ""
            message = (
                f"{checked.title(node.id)} runs the agent {reference.graph_id[:60]!r}{name}, which is neither in the "
                "file nor in your library. Import it first, or choose another."
            )
            yield Problem(code=Code.SUB_AGENT_NOT_FOUND, message=message, node_id=node.id, pin="graph_id")


def check_found(checked: Checked, node: Node, agent: Signature) -> Iterator[Problem]:
    if agent.first_problem:
        message = f"{checked.title(node.id)}: the agent {agent.name[:80]!r} itself cannot run: {agent.first_problem}"
        yield Problem(code=Code.SUB_AGENT_INVALID, message=message, node_id=node.id)
    given = given_inputs(checked, node)
    for name in required_names(agent):
        if name not in given:
            message = (
                f"{checked.title(node.id)}: the agent {agent.name[:80]!r} needs its input {name[:80]!r}. "
                "Give it a value or link it."
            )
            yield Problem(code=Code.SUB_AGENT_INPUT_MISSING, message=message, node_id=node.id, pin=name[:200])


def required_names(agent: Signature) -> list[str]:
    required = agent.schemas.inputs.get("required")
    known = properties_of(agent.schemas.inputs)
    return [name for name in required if name in known] if isinstance(required, list) else []


def given_inputs(checked: Checked, node: Node) -> set[str]:
    """Return the inputs that have a value or a link."""
    gathered = node.input_default.get("inputs")
    named = gathered if isinstance(gathered, Mapping) else {}
    values = {**node.input_default, **named}
    given = {name for name, value in values.items() if value is not None}
    links = checked.graph.links_into(node.id)
    steps = {link.sink.steps[0].key for link in links if link.sink.pin == "inputs" and link.sink.steps}
    return given | steps | {link.sink_name for link in links} | {link.sink.pin for link in links}
