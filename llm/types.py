"""The values exchanged between the model client and its callers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, TypeAlias

from llm.carry import NO_CARRY, Carry

JSON: TypeAlias = Any
FinishReason: TypeAlias = Literal["stop", "length", "tool_calls", "content_filter"]


@dataclass(frozen=True, kw_only=True)
class ToolSpec:
    """A tool the model may call; `parameters` is its JSON schema."""

    name: str
    description: str
    parameters: dict[str, JSON]


@dataclass(frozen=True, kw_only=True)
class ToolCallRequest:
    """A tool call the model asked for; `arguments` is the raw text as the model wrote it, valid JSON or not."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Tokens of one or more answers; `estimated` from characters if the server did not report them.

    `cached_tokens` and `cache_write_tokens` are the parts of `input_tokens` that were read from and written to the
    provider's prompt cache, `reasoning_tokens` the part of `output_tokens` that nobody reads.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    estimated: bool = False

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            estimated=self.estimated or other.estimated,
        )


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request to the model; messages are in the OpenAI chat format, an empty model means the default one.

    An answer among them may have its Carry under the key `carry`; a model is sent only what it gave itself. Messages
    with the key `volatile` stand last: what is before them can be cached by the provider. `fallbacks` are the models
    to ask instead when this one keeps failing; None means those of the site's chain that are for everybody.
    """

    model: str
    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[ToolSpec] = ()
    temperature: float | None = None
    max_output_tokens: int | None = None
    user: str = ""
    response_format: Mapping[str, Any] | None = None
    fallbacks: Sequence[str] | None = None
    tool_choice: str | Mapping[str, Any] | None = (
        None  # in the OpenAI chat format; None leaves it to the model
    )
    parallel_tool_calls: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Completion:
    """One whole answer; `model` is the one that gave it, `cost` is in USD."""

    text: str
    reasoning: str
    tool_calls: tuple[ToolCallRequest, ...]
    finish_reason: FinishReason
    usage: Usage
    model: str
    cost: Decimal
    carry: Carry = NO_CARRY


@dataclass(frozen=True, kw_only=True)
class TextDelta:
    """A piece of the answer's text."""

    text: str


@dataclass(frozen=True, kw_only=True)
class ReasoningDelta:
    """A piece of the model's reasoning."""

    text: str


@dataclass(frozen=True, kw_only=True)
class ToolCallStart:
    """The model begins a tool call."""

    index: int
    id: str
    name: str


@dataclass(frozen=True, kw_only=True)
class ToolCallDelta:
    """A piece of a tool call's arguments."""

    index: int
    arguments: str


@dataclass(frozen=True, kw_only=True)
class StreamReset:
    """Discard what was streamed of this answer; a new try starts."""

    reason: str


@dataclass(frozen=True, kw_only=True)
class RetryNote:
    """The request will be retried after a wait; the message is for the user."""

    message: str
    seconds: float


@dataclass(frozen=True, kw_only=True)
class FailedTry:
    """A try at the answer failed; `detail` is what the server said, without keys and without text of the user."""

    model: str
    kind: str
    detail: str


Delta: TypeAlias = (
    TextDelta | ReasoningDelta | ToolCallStart | ToolCallDelta | StreamReset | RetryNote | FailedTry
)
