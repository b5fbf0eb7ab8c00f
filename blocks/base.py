"""The definition of a block: its facts, typed pins, examples and the function that emits outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from functools import cached_property
from inspect import signature
from typing import Any, TypeAlias, TypeVar, get_type_hints
from uuid import UUID

from pydantic import TypeAdapter

from blocks import limits
from blocks.context import BlockContext, Meter
from blocks.errors import BadBlock
from blocks.examples import Example
from blocks.schema import JSON, BlockInputs, BlockOutputs, PinInfo, Text, object_schema, read_pins

Emissions: TypeAlias = Iterator[tuple[str, JSON]]
Inputs = TypeVar("Inputs", bound=BlockInputs)
ERROR_PIN = "error"


class Category(StrEnum):
    """The section of the catalogue that lists a block."""

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
    """How the engine treats a block."""

    STANDARD = "standard"
    INPUT = "input"  # a named input of the agent
    OUTPUT = "output"  # a named output of the agent
    NOTE = "note"  # a comment for readers of the agent
    AI = "ai"  # offers other nodes to a model as tools
    AGENT = "agent"  # runs another agent
    HITL = "hitl"  # asks a person for a decision
    MCP_TOOL = "mcp_tool"  # calls a tool of an MCP server
    WEBHOOK_MANUAL = "webhook_manual"  # started by a web request


class Effects(StrEnum):
    """Whether a block can be run again after an interruption."""

    PURE = "pure"  # no effects: can be run again
    NETWORK = "network"  # only reads from outside: can be run again
    EFFECTFUL = "effectful"  # changes something: run again only under its idempotency key


class Leaves(StrEnum):
    """What a run sends out of the site, which could carry data away."""

    NOTHING = "nothing"  # or only to services the operator chose, such as the model or the search
    ADDRESS = "address"  # a read request to an address given as input
    MESSAGE = "message"  # data is sent to, or changed at, a destination given as input


@dataclass(frozen=True, kw_only=True)
class Cost:
    """The price of a node run in dollars, in addition to the cost of the model."""

    per_run: Decimal = Decimal(0)
    per_second: Decimal = Decimal(0)
    per_item: Decimal = Decimal(0)
    per_token: Decimal = Decimal(0)

    def total(self, meter: Meter, *, seconds: float = 0.0) -> Decimal:
        """Return the price of one run from its meter and duration."""
        used = self.per_item * meter.items + self.per_token * meter.tokens
        return self.per_run + self.per_second * Decimal(str(max(seconds, 0.0))) + used + meter.model_cost

    def __bool__(self) -> bool:
        return any((self.per_run, self.per_second, self.per_item, self.per_token))


FREE = Cost()


@dataclass(frozen=True, kw_only=True)
class CredentialsNeed:
    """The account a block uses; not `required` if the platform has its own."""

    provider: str
    kind: str
    required: bool = True
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class DynamicInputs:
    """Extra input pins defined by a schema on `schema_pin`; their values are collected on `gathered_on`."""

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
    reads_outside: bool | None = None  # may emit content from outside; default: unless it is pure
    leaves: Leaves | Callable[[Any], Leaves] | None = None  # default: MESSAGE, unless it is pure
    nondeterministic: bool = (
        False  # depends on time, chance or stored state: outputs are recorded and replayed
    )
    static_output: bool = False  # outputs are reused, not consumed
    repeats: tuple[str, ...] = ()  # pins that one run may emit on more than once
    sensitive: bool = False  # needs a review if safe mode is on
    repeatable: Callable[[Any], bool] | None = (
        None  # for effectful blocks: may an interrupted run be repeated?
    )
    sequential: bool = False  # runs of one node never overlap, because it keeps state between them
    resumable: bool = False  # a second attempt emits only the outputs after `context.recorded_outputs`
    runs_alone: bool = True  # may be run outside an agent
    error_pin: bool = True
    time_cap_seconds: float | None = limits.NODE_RUN_SECONDS
    cost: Cost = FREE
    credentials: CredentialsNeed | None = None
    aliases: Mapping[str, str] = field(default_factory=dict)  # old pin name -> new one
    ignored_inputs: tuple[str, ...] = ()  # obsolete keys of old exports
    loop_inputs: tuple[str, ...] = ()  # fed by a loop: the first run does not wait for them
    dynamic_inputs: DynamicInputs | None = None
    dynamic_outputs: Callable[[str, Any], bool] | None = None  # (pin, inputs) -> may it be emitted?
    examples: tuple[Example, ...] = ()

    def is_repeatable(self, inputs: BlockInputs) -> bool:
        """Return whether an interrupted run of an effectful block may be repeated under the same key."""
        return self.repeatable is not None and self.repeatable(inputs)

    @property
    def gives_outside_content(self) -> bool:
        """Return whether its outputs may contain content from outside."""
        if self.reads_outside is None:
            return self.effects is not Effects.PURE
        return self.reads_outside

    def leaves_with(self, inputs: BlockInputs) -> Leaves:
        """Return what leaves the site when it runs with these inputs."""
        if self.leaves is None:
            return Leaves.NOTHING if self.effects is Effects.PURE else Leaves.MESSAGE
        return self.leaves if isinstance(self.leaves, Leaves) else self.leaves(inputs)

    @cached_property
    def input_pins(self) -> tuple[PinInfo, ...]:
        return read_pins(self.inputs)

    @cached_property
    def output_pins(self) -> tuple[PinInfo, ...]:
        error = PinInfo(
            name=ERROR_PIN,
            type="string",
            schema={"type": "string"},
            required=True,
            description="The error message.",
        )
        return read_pins(self.outputs) + ((error,) if self.error_pin else ())

    @cached_property
    def input_schema(self) -> dict[str, JSON]:
        return object_schema(self.input_pins)

    @cached_property
    def output_schema(self) -> dict[str, JSON]:
        return object_schema(self.output_pins)

    @cached_property
    def inputs_by_name(self) -> Mapping[str, PinInfo]:
        return {pin.name: pin for pin in self.input_pins}

    @cached_property
    def outputs_by_name(self) -> Mapping[str, PinInfo]:
        return {pin.name: pin for pin in self.output_pins}

    @cached_property
    def output_adapters(self) -> Mapping[str, TypeAdapter[Any]]:
        """Return a validator for each declared output."""
        fields = self.outputs.model_fields.items()
        adapters: dict[str, TypeAdapter[Any]] = {
            name: TypeAdapter(info.rebuild_annotation()) for name, info in fields
        }
        return adapters | ({ERROR_PIN: TypeAdapter(Text)} if self.error_pin else {})


def repeatable_by_key(inputs: BlockInputs) -> bool:
    """Return True, for `repeatable`: the effect carries the key of the run, so repeating it has no further effect."""
    return True


def block(
    *,
    id: str,
    name: str,
    category: Category,
    outputs: type[BlockOutputs],
    examples: Sequence[Example],
    inputs: type[BlockInputs] | None = None,
    **facts: Any,
) -> Callable[[Callable[[Inputs, BlockContext], Emissions]], Block]:
    """Turn a function into a block; its docstring becomes the description, its first argument's type the inputs."""

    def make(run: Callable[[Inputs, BlockContext], Emissions]) -> Block:
        made = Block(
            id=id,
            name=name,
            category=category,
            description=" ".join((run.__doc__ or "").split()),
            inputs=inputs or inputs_of(run),
            outputs=outputs,
            run=run,
            examples=tuple(examples),
            **facts,
        )
        check_declaration(made)
        return made

    return make


def inputs_of(run: Callable[..., Emissions]) -> type[BlockInputs]:
    """Return the type of a block function's first argument."""
    found: type[BlockInputs] = get_type_hints(run)[next(iter(signature(run).parameters))]
    return found


def check_declaration(made: Block) -> None:
    """Raise BadBlock if the declaration is inconsistent."""
    try:
        canonical = str(UUID(made.id))
    except ValueError:
        raise BadBlock(f"The block {made.name!r} has the id {made.id!r}. Use a UUID.") from None
    if canonical != made.id:
        raise BadBlock(f"The block {made.name!r} has the id {made.id!r}. Write it as {canonical}.")
    if not made.name or not made.description:
        raise BadBlock(f"The block {made.id} needs a name and a docstring.")
    pins = set(made.outputs.model_fields)
    if made.error_pin and ERROR_PIN in pins:
        raise BadBlock(f"The block {made.name!r} declares the pin `error`, which every block has already.")
    unknown = [
        pin for pin in made.repeats if pin not in pins and "*" not in pin and made.dynamic_outputs is None
    ]
    if unknown:
        raise BadBlock(f"The block {made.name!r} repeats {unknown}, which are not among its outputs.")
    need = made.dynamic_inputs
    if need and not {need.schema_pin, need.gathered_on} <= set(made.inputs.model_fields):
        raise BadBlock(f"The block {made.name!r} declares dynamic inputs for pins it does not have.")
