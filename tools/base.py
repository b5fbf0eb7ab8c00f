"""How a tool is written: a typed function under `@tool`."""

from __future__ import annotations

import enum
import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from durable import storable
from executions import limits as executions_limits
from tools import limits
from tools.context import ToolContext
from tools.errors import BadTool, ToolError

NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]{0,63}")  # what model providers accept as a function's name


@dataclass(frozen=True, kw_only=True)
class OutsideAnswer:
    """The unprocessed answer of a service; `late` if it did not answer in time."""

    success: bool
    result: Any = None
    error: str = ""
    late: bool = False

    def unwrap(self) -> Any:
        """Return the result; raises ToolError with the service's error if there is none."""
        if self.success:
            return self.result
        if self.late:
            raise ToolError("The outside service did not answer in time.", code="timed_out")
        raise ToolError(self.error or "The outside service reported a failure without a reason.")

    def as_json(self) -> dict[str, Any]:
        """Return the form in which it is stored until the tool has processed it."""
        return {
            "success": self.success,
            "result": storable.nearest_json(self.result),
            "error": storable.text(self.error),
            "late": self.late,
        }

    @classmethod
    def parse(cls, kept: dict[str, Any]) -> OutsideAnswer:
        return cls(**kept)


@dataclass(frozen=True, kw_only=True)
class Handle:
    """Work that goes on at an outside service: what the tool needs to look at it, and a person's answer to it."""

    data: Mapping[str, Any]
    answer: PersonAnswer | None = None


@dataclass(frozen=True, kw_only=True)
class PersonAnswer:
    """What a person said to the last question about the work."""

    approved: bool
    data: Any = None
    message: str = ""


class Effect(enum.StrEnum):
    """What effect a call has, which decides whether it is repeated after a crash."""

    PURE = "pure"  # none: run again
    IDEMPOTENT = "idempotent"  # the same effect when run twice with one key: run again
    EFFECTFUL = "effectful"  # a row that can be looked up by key: run again only if it is missing
    FOREIGN = "foreign"  # an effect elsewhere that cannot be looked up: never run again, report it


class Rule(enum.StrEnum):
    """What happens to a call of a tool."""

    ALLOW = "allow"  # it runs
    ASK = "ask"  # a person decides first
    DENY = "deny"  # it is refused, and the model is not shown the tool


class Reads(enum.StrEnum):
    """Whether a tool's result contains content written by third parties."""

    NOTHING = "nothing"  # only content of this site or of the user
    PERHAPS = "perhaps"  # the tool names its sources with `context.read_outside`
    ALWAYS = "always"


class ToolArgs(BaseModel):
    """Base of every tool's argument model. Strings lose the blanks around them; a Verbatim one keeps them."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, str_strip_whitespace=True)


Verbatim: TypeAlias = Annotated[str, StringConstraints(strip_whitespace=False)]  # its blanks mean something


class ToolResult(BaseModel):
    """Base of every tool's result; a subclass sets `type`.

    People are shown `message`. `next_step` tells only the model what to do with the result.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True, defer_build=True)

    type: str
    message: str
    next_step: str = ""
    session_id: str | None = None


def clamp_wait(value: object) -> object:
    """Return the nearest allowed wait: models ask for -1, 1e9 or NaN seconds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if math.isnan(value):
        return 0.0
    return min(executions_limits.MAX_TOOL_WAIT_SECONDS, max(0.0, value))


WaitSeconds: TypeAlias = Annotated[
    float, Field(ge=0, le=executions_limits.MAX_TOOL_WAIT_SECONDS), BeforeValidator(clamp_wait)
]

Run: TypeAlias = Callable[[Any, Any], ToolResult]  # a long-running tool is given an OperationContext
Lookup: TypeAlias = Callable[[Any, Any], ToolResult | None]
Receive: TypeAlias = Callable[[Any, OutsideAnswer, Any], ToolResult]
Follow: TypeAlias = Callable[[Any, "Handle", Any], ToolResult]
Abandon: TypeAlias = Callable[["Handle", int | None], None]
Gate: TypeAlias = Callable[[ToolContext], None]
Holds: TypeAlias = Callable[[Any, Any], bool]


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A registered tool; calling it calls its function."""

    name: str
    description: str
    args: type[ToolArgs]
    run: Run
    effect: Effect
    reads: Reads
    holds: Holds
    gates: tuple[Gate, ...]
    cap_seconds: float
    long_running: bool
    available: Callable[[], bool]
    lookup: Lookup | None
    receive: Receive | None
    module: str
    for_client: bool = False  # a program that talks to the copilot runs it and sends the result
    default_rule: Rule = Rule.ALLOW  # where neither the site nor the person has one
    parameters: Mapping[str, Any] | None = None  # a JSON schema, instead of that of `args`
    follow: Follow | None = None  # goes on with work that GoesOnElsewhere was raised for
    abandon: Abandon | None = None  # tells the other side that nobody waits any more; may fail silently

    def __call__(self, args: ToolArgs, context: ToolContext) -> ToolResult:
        return self.run(args, context)


def tool(
    *,
    effect: Effect = Effect.PURE,
    reads: Reads | None = None,
    holds: bool | Holds | None = None,
    gates: Sequence[Gate] = (),
    cap_seconds: float | None = None,
    long_running: bool = False,
    available: Callable[[], bool] = lambda: True,
    lookup: Lookup | None = None,
    receive: Receive | None = None,
    name: str | None = None,
) -> Callable[[Run], Tool]:
    """Make a tool of a function `(args: Args, context: ToolContext) -> Result`.

    The model reads the docstring. `available` says whether this machine can offer the tool. An effectful tool needs
    `lookup`, which returns the result of an earlier run by `context.key`, or None. A `long_running` tool becomes an
    operation: it runs on its own queue and continues the conversation with its result. When the tool has raised
    AcceptedElsewhere, `receive(args, answer, context)` turns the outside service's answer into the tool's result;
    without it the answer itself is the result.

    `reads` says whether the result may contain third-party content; the default assumes that it does. `holds`, a
    bool or a function of `(args, context)`, says whether a person must approve the call once third-party content was
    read, because it sends data out or has a lasting effect. By default calls with a foreign effect are held.
    """

    def make(function: Run) -> Tool:
        known_as = name or function.__name__
        if not NAME.fullmatch(known_as):
            raise BadTool(f"{known_as!r} is not a valid tool name. Use 1 to 64 letters, digits, _ and -.")
        description = inspect.cleandoc(function.__doc__ or "")
        if not description:
            raise BadTool(
                f"The tool {known_as} has no docstring. The model reads it to know what the tool does."
            )
        if (effect is Effect.EFFECTFUL) != (lookup is not None):
            raise BadTool(
                f"The tool {known_as}: `lookup` is required for effectful tools and not allowed for others."
            )
        if receive is not None and not long_running:
            raise BadTool(f"The tool {known_as}: only a long-running tool can have `receive`.")
        most = executions_limits.MAX_OPERATION_SECONDS if long_running else limits.STREAM_IDLE_SECONDS
        cap = cap_seconds
        if cap is None:
            cap = executions_limits.MAX_OPERATION_SECONDS if long_running else limits.TOOL_SECONDS
        if not 0 < cap <= most:
            raise BadTool(f"The tool {known_as}: cap_seconds must be at most {most:.0f}.")
        must_hold = effect is Effect.FOREIGN if holds is None else holds
        return Tool(
            name=known_as,
            description=description,
            args=_argument_model(known_as, function),
            run=function,
            effect=effect,
            reads=reads or Reads.ALWAYS,
            holds=must_hold if callable(must_hold) else lambda args, context: must_hold,
            gates=tuple(gates),
            cap_seconds=cap,
            long_running=long_running,
            available=available,
            lookup=lookup,
            receive=receive,
            module=function.__module__,
        )

    return make


def _argument_model(name: str, function: Run) -> type[ToolArgs]:
    """Return the annotation of the function's first parameter; raises BadTool for a wrong signature."""
    parameters = list(inspect.signature(function).parameters)
    hints = get_type_hints(function)
    model = hints.get(parameters[0]) if len(parameters) == 2 else None
    if not (isinstance(model, type) and issubclass(model, ToolArgs)):
        raise BadTool(
            f"The tool {name} must be defined as {name}(args: Args, context: ToolContext); Args extends ToolArgs."
        )
    result = hints.get("return")
    if not (isinstance(result, type) and issubclass(result, ToolResult)) and not _is_union_of_results(result):
        raise BadTool(f"The tool {name} must be annotated to return a ToolResult.")
    return model


def _is_union_of_results(hint: object) -> bool:
    members = getattr(hint, "__args__", ())
    return bool(members) and all(isinstance(kind, type) and issubclass(kind, ToolResult) for kind in members)
