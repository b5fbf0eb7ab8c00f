"""What a block is: facts, typed pins, examples and a function that emits outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from functools import cached_property
from typing import Any, TypeAlias, TypeVar
from uuid import UUID

from pydantic import TypeAdapter

from durable import limits
from executions.blocks.context import BlockContext, Meter
from executions.blocks.errors import BadBlock
from executions.blocks.examples import Example
from executions.blocks.schema import JSON, BlockInputs, BlockOutputs, Pin, Text, object_schema, read_pins

Emissions: TypeAlias = Iterator[tuple[str, JSON]]
Inputs = TypeVar("Inputs", bound=BlockInputs)
ERROR_PIN = "error"


class Category(StrEnum):
    """Where people look for a block."""

    INPUT = "INPUT"
    OUTPUT = "OUTPUT"
    BASIC = "BASIC"
    LOGIC = "LOGIC"
    DATA = "DATA"
    TEXT = "TEXT"
    SEARCH = "SEARCH"
    SOCIAL = "SOCIAL"
    AI = "AI"
    AGENT = "AGENT"
    DEVELOPER_TOOLS = "DEVELOPER_TOOLS"


class BlockType(StrEnum):
    """What the engine does with a block."""

    STANDARD = "standard"
    INPUT = "input"  # a named input of the agent
    OUTPUT = "output"  # a named output of the agent
    NOTE = "note"  # an annotation
    AI = "ai"  # offers other nodes to a model as tools
    AGENT = "agent"  # runs another agent
    HITL = "hitl"  # asks a person
    MCP_TOOL = "mcp_tool"  # calls a tool of another server
    WEBHOOK_MANUAL = "webhook_manual"  # started from outside


class Effects(StrEnum):
    """What a second run would do."""

    PURE = "pure"  # nothing outside: run it again
    NETWORK = "network"  # reads from outside: run it again
    EFFECTFUL = "effectful"  # changes something: carries a key, is never blindly run again


class Leaves(StrEnum):
    """What of a run leaves the site; what leaves it can carry data away."""

    NOTHING = "nothing"  # also: what goes to a service the operator chose, such as the model or the search
    ADDRESS = "address"  # a request that reads, to an address among its inputs
    MESSAGE = "message"  # something is sent to, or changed at, a place among its inputs


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a node run costs, in dollars as the ledger has them, on top of what a model charged for it."""

    per_run: Decimal = Decimal(0)
    per_second: Decimal = Decimal(0)
    per_item: Decimal = Decimal(0)
    per_token: Decimal = Decimal(0)

    def total(self, meter: Meter, *, seconds: float = 0.0) -> Decimal:
        """The price of one run that took that long and used what the meter says."""
        used = self.per_item * meter.items + self.per_token * meter.tokens
        return self.per_run + self.per_second * Decimal(str(max(seconds, 0.0))) + used + meter.model_cost

    def __bool__(self) -> bool:
        return any((self.per_run, self.per_second, self.per_item, self.per_token))


FREE = Cost()


@dataclass(frozen=True, kw_only=True)
class CredentialsNeed:
    """The account a block acts with; not `required` when the platform has one of its own."""

    provider: str
    kind: str
    required: bool = True
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class DynamicInputs:
    """Pins a node gains from its own settings: the properties of the schema on one pin, gathered on another."""

    schema_pin: str
    gathered_on: str


@dataclass(frozen=True, kw_only=True)
class Block:
    """One block of the catalogue."""

    id: str
    name: str
    category: Category
    description: str
    inputs: type[BlockInputs]
    outputs: type[BlockOutputs]
    run: Callable[[Any, BlockContext], Emissions]
    type: BlockType = BlockType.STANDARD
    effects: Effects = Effects.PURE
    reads_outside: bool | None = None  # may give out what strangers wrote; undeclared: yes, unless it is pure
    leaves: Leaves | Callable[[Any], Leaves] | None = None  # undeclared: MESSAGE, unless it is pure
    nondeterministic: bool = False  # clock, chance or stored state: its outputs are recorded and replayed
    static_output: bool = False  # its outputs are reused rather than consumed
    repeats: tuple[str, ...] = ()  # the pins one run may emit on many times
    sensitive: bool = False  # asks for a review where that mode is on
    repeatable: Callable[[Any], bool] | None = None  # effectful: may a run that was cut off be done again?
    sequential: bool = False  # runs of one node come one after the other: it keeps something between them
    resumable: bool = False  # a second attempt emits only what follows `context.recorded_outputs`
    runs_alone: bool = True  # may be run outside an agent
    error_pin: bool = True
    time_cap_seconds: float | None = limits.NODE_RUN_SECONDS
    cost: Cost = FREE
    credentials: CredentialsNeed | None = None
    aliases: Mapping[str, str] = field(default_factory=dict)  # old pin names, to new ones
    ignored_inputs: tuple[str, ...] = ()  # keys of old exports that mean nothing any more
    loop_inputs: tuple[str, ...] = ()  # linked back from what follows: the first run does not wait for them
    dynamic_inputs: DynamicInputs | None = None
    dynamic_outputs: Callable[[str, Any], bool] | None = None  # (pin, inputs): may it be emitted?
    examples: tuple[Example, ...] = ()

    def is_repeatable(self, inputs: BlockInputs) -> bool:
        """Whether doing it again under the same key is as good as once; only an effectful block is asked."""
        return self.repeatable is not None and self.repeatable(inputs)

    @property
    def gives_outside_content(self) -> bool:
        """Whether what it gives out may have been written by a stranger."""
        if self.reads_outside is None:
            return self.effects is not Effects.PURE
        return self.reads_outside

    def leaves_with(self, inputs: BlockInputs) -> Leaves:
        """What leaves the site when it runs with these inputs."""
        if self.leaves is None:
            return Leaves.NOTHING if self.effects is Effects.PURE else Leaves.MESSAGE
        return self.leaves if isinstance(self.leaves, Leaves) else self.leaves(inputs)

    @cached_property
    def input_pins(self) -> tuple[Pin, ...]:
        return read_pins(self.inputs)

    @cached_property
    def output_pins(self) -> tuple[Pin, ...]:
        error = Pin(
            name=ERROR_PIN,
            type="string",
            schema={"type": "string"},
            required=True,
            description="What went wrong.",
        )
        return read_pins(self.outputs) + ((error,) if self.error_pin else ())

    @cached_property
    def input_schema(self) -> dict[str, JSON]:
        return object_schema(self.input_pins)

    @cached_property
    def output_schema(self) -> dict[str, JSON]:
        return object_schema(self.output_pins)

    @cached_property
    def inputs_by_name(self) -> Mapping[str, Pin]:
        return {pin.name: pin for pin in self.input_pins}

    @cached_property
    def outputs_by_name(self) -> Mapping[str, Pin]:
        return {pin.name: pin for pin in self.output_pins}

    @cached_property
    def output_adapters(self) -> Mapping[str, TypeAdapter[Any]]:
        """A checker for each declared output."""
        fields = self.outputs.model_fields.items()
        adapters: dict[str, TypeAdapter[Any]] = {
            name: TypeAdapter(info.rebuild_annotation()) for name, info in fields
        }
        return adapters | ({ERROR_PIN: TypeAdapter(Text)} if self.error_pin else {})


def under_its_key(inputs: BlockInputs) -> bool:
    """For `repeatable`: the effect carries the key of the run, so that a second attempt does it once."""
    return True


def block(
    *,
    id: str,
    name: str,
    category: Category,
    inputs: type[Inputs],
    outputs: type[BlockOutputs],
    examples: Sequence[Example],
    **facts: Any,
) -> Callable[[Callable[[Inputs, BlockContext], Emissions]], Block]:
    """Make a block of the function that runs it; its docstring is the description."""

    def make(run: Callable[[Inputs, BlockContext], Emissions]) -> Block:
        made = Block(
            id=id,
            name=name,
            category=category,
            description=" ".join((run.__doc__ or "").split()),
            inputs=inputs,
            outputs=outputs,
            run=run,
            examples=tuple(examples),
            **facts,
        )
        check_declaration(made)
        return made

    return make


def check_declaration(made: Block) -> None:
    """Raise BadBlock when the facts contradict each other."""
    try:
        canonical = str(UUID(made.id))
    except ValueError:
        raise BadBlock(f"The block {made.name!r} has the id {made.id!r}. Use a UUID.") from None
    if canonical != made.id:
        raise BadBlock(f"The block {made.name!r} has the id {made.id!r}. Write it as {canonical}.")
    if not made.name or not made.description:
        raise BadBlock(f"The block {made.id} needs a name, and a docstring on its function.")
    pins = set(made.outputs.model_fields)
    if made.error_pin and ERROR_PIN in pins:
        raise BadBlock(f"The block {made.name!r} declares the pin `error`, which every block has by itself.")
    unknown = [
        pin for pin in made.repeats if pin not in pins and "*" not in pin and made.dynamic_outputs is None
    ]
    if unknown:
        raise BadBlock(f"The block {made.name!r} repeats {unknown}, which are no outputs of it.")
    need = made.dynamic_inputs
    if need and not {need.schema_pin, need.gathered_on} <= set(made.inputs.model_fields):
        raise BadBlock(f"The block {made.name!r} gathers dynamic inputs on pins it does not have.")
