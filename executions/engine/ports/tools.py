"""The tools port: the nodes that an orchestrator offers to the model as tools, and their calls."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from blocks.base import Block
from blocks.errors import BlockCancelled, BudgetUsedUp
from blocks.ports import JSON, PortError, ToolOffer
from durable.database import outside_wait
from durable.errors import LeaseLost
from durable.stop_signal import StopSignal
from executions.engine.node_run import NodeRun, NodeToolCall, RunOutcome
from executions.engine.plan import Plan, PlannedNode
from executions.graph import Link

NAME_CHARACTERS = 64
UNFIT = re.compile(r"[^a-zA-Z0-9_-]+")


@dataclass(frozen=True, kw_only=True)
class NodeToolbox:
    """The tools of one orchestrator's run."""

    plan: Plan
    caller: NodeRun

    def offers(self) -> Sequence[ToolOffer]:
        return offers_of(self.plan, self.caller.node)

    def call(self, offer: ToolOffer, arguments: Mapping[str, JSON], *, key: str, cancel: StopSignal) -> JSON:
        """Run the node and return its outputs by pin. Once per key: what finished is not run again."""
        call = NodeToolCall(
            id=uuid.uuid5(self.caller.id, key), node_id=offer.node_id, arguments=arguments, caller=self.caller
        )
        remove = cancel.add_callback(call.done.set)
        try:
            self.caller.scope.inbox.call(call)
            with outside_wait():
                call.done.wait(self.caller.node.block.time_cap_seconds)
        finally:
            remove()
        if call.run is None:
            raise BlockCancelled
        return self._read(call.run)

    def _read(self, run: NodeRun) -> JSON:
        match run.outcome:
            case RunOutcome.COMPLETED:
                return by_pin([(pin, self.caller.scope.large.load(value)) for pin, value in run.outputs])
            case RunOutcome.PARKED if run.parked is not None:
                raise run.parked  # its caller waits with it
            case RunOutcome.OVER_BUDGET:
                raise BudgetUsedUp(run.error)
            case RunOutcome.LOST:
                raise LeaseLost
            case RunOutcome.STOPPED:
                raise BlockCancelled
            case _:
                raise PortError(run.error)


def by_pin(pairs: Sequence[tuple[str, JSON]]) -> dict[str, JSON]:
    """Return one value per pin; a list where several were emitted on it."""
    found: dict[str, list[JSON]] = {}
    for pin, value in pairs:
        found.setdefault(pin, []).append(value)
    return {pin: values[0] if len(values) == 1 else values for pin, values in found.items()}


# --- offers -------------------------------------------------------------------------------------


def offers_of(plan: Plan, node: PlannedNode) -> list[ToolOffer]:
    """Return one function for each node that a tool link leads to."""
    linked: dict[str, list[Link]] = {}
    for link in node.links:
        if node.is_tool_link(link):
            linked.setdefault(link.sink_id, []).append(link)
    names: set[str] = set()
    return [make_offer(plan.nodes[sink_id], links, names) for sink_id, links in linked.items()]


def make_offer(sink: PlannedNode, links: Sequence[Link], names: set[str]) -> ToolOffer:
    arguments: dict[str, str] = {}
    taken: set[str] = set()
    for link in links:
        arguments.setdefault(unique(fit_name(link.sink_name), taken), link.sink_name)
    properties = {name: schema_of(sink, pin) for name, pin in arguments.items()}
    return ToolOffer(
        name=unique(fit_name(tool_name(sink)), names),
        description=describe(sink),
        parameters={
            "type": "object",
            "properties": properties,
            "required": [name for name, pin in arguments.items() if is_needed(sink, pin)],
        },
        node_id=sink.id,
        pins=arguments,
    )


def tool_name(sink: PlannedNode) -> str:
    agent = sink.values.get("agent_name")
    return agent if isinstance(agent, str) and agent else sink.name


def describe(sink: PlannedNode) -> str:
    said = sink.node.metadata.get("description") or sink.values.get("agent_description")
    return said if isinstance(said, str) and said else sink.block.description


def schema_of(sink: PlannedNode, pin: str) -> dict[str, JSON]:
    known = sink.block.inputs_by_name.get(pin)
    if known is not None:
        shown = {key: value for key, value in known.schema.items() if key != "default"}
        return shown | ({"description": known.description} if known.description else {})
    schema = dynamic_schema(sink).get("properties", {}).get(pin)
    return dict(schema) if isinstance(schema, Mapping) else {"description": f"The value for {pin}."}


def is_needed(sink: PlannedNode, pin: str) -> bool:
    """Return whether the block requires the pin and the node has no value for it."""
    if sink.values.get(pin) is not None:
        return False
    known = sink.block.inputs_by_name.get(pin)
    if known is not None:
        return known.required
    required = dynamic_schema(sink).get("required")
    return pin in required if isinstance(required, list) else True


def dynamic_schema(sink: PlannedNode) -> Mapping[str, JSON]:
    block: Block = sink.block
    schema = sink.values.get(block.dynamic_inputs.schema_pin) if block.dynamic_inputs else None
    return schema if isinstance(schema, Mapping) else {}


def fit_name(name: str) -> str:
    return UNFIT.sub("_", name.strip()).strip("_")[:NAME_CHARACTERS] or "tool"


def unique(name: str, taken: set[str]) -> str:
    found, number = name, 2
    while found in taken:
        found, number = f"{name[: NAME_CHARACTERS - 4]}_{number}", number + 1
    taken.add(found)
    return found
