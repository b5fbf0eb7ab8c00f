"""An orchestrator's rounds: ask the model with tools, check its calls, tell it what is wrong with them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from executions.blocks.coercion import parse_json
from executions.blocks.context import BlockContext
from executions.blocks.errors import BlockFailed
from executions.blocks.families.ai import ask
from executions.blocks.families.answer_carries import AnswerCarries
from executions.blocks.families.texts import as_text
from executions.blocks.schema import JSON, Object, Objects
from executions.ports import PortError, ToolOffer
from llm.types import Completion, ToolCallRequest, ToolSpec


@dataclass(frozen=True, kw_only=True)
class CheckedCall:
    """A call of a tool that exists, with arguments it takes."""

    id: str
    offer: ToolOffer
    arguments: Object


@dataclass(frozen=True, kw_only=True)
class Round:
    """One answer of the model: calls, or none and `text` is the end; `messages` is the conversation after it."""

    text: str
    calls: tuple[CheckedCall, ...]
    messages: Objects


@dataclass(frozen=True, kw_only=True)
class Asking:
    """How an orchestrator asks."""

    offers: Sequence[ToolOffer]
    model: str
    max_tokens: int | None
    retry: int
    many_calls: bool
    shorten: bool
    carries: AnswerCarries

    def run(self, messages: Objects, context: BlockContext) -> Round:
        """One round; wrong calls are told to the model and asked for again, then fail."""
        problem = ""
        for _ in range(max(self.retry, 1)):
            answer = ask(
                self.carries.with_messages(messages),
                context,
                model=self.model,
                max_tokens=self.max_tokens,
                tools=[to_spec(offer) for offer in self.offers],
                tries=self.retry,
                shorten=self.shorten,
            )
            wanted = answer.tool_calls if self.many_calls else answer.tool_calls[:1]
            said = describe_answer(answer, wanted)
            self.carries.keep(said, answer.carry)
            try:
                calls = tuple(check_call(call, self.offers) for call in wanted)
            except ValueError as error:
                problem = str(error)
                messages = [*messages, said, *complaints(wanted, problem)]
                continue
            return Round(text=answer.text, calls=calls, messages=[*messages, said])
        raise BlockFailed(f"The model could not call the tools: {problem}.")


def to_spec(offer: ToolOffer) -> ToolSpec:
    return ToolSpec(name=offer.name, description=offer.description, parameters=dict(offer.parameters))


def check_call(call: ToolCallRequest, offers: Sequence[ToolOffer]) -> CheckedCall:
    """Raises ValueError with a sentence for the model."""
    offer = next((offer for offer in offers if offer.name == call.name), None)
    if offer is None:
        raise ValueError(
            f"there is no tool {call.name!r}; there are {', '.join(offer.name for offer in offers)}"
        )
    try:
        arguments = parse_json(call.arguments or "{}")
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        raise ValueError(f"the arguments of {call.name} are no JSON object")
    known = offer.parameters.get("properties") or {}
    if unknown := sorted(set(arguments) - set(known)):
        raise ValueError(f"{call.name} has no argument {', '.join(unknown)}; it has {', '.join(known)}")
    required = offer.parameters.get("required") or []
    if missing := [name for name in required if name not in arguments]:
        raise ValueError(f"{call.name} needs {', '.join(missing)}")
    return CheckedCall(id=call.id, offer=offer, arguments=arguments)


def describe_answer(answer: Completion, calls: Sequence[ToolCallRequest]) -> Object:
    """The model's message as the conversation keeps it."""
    message: Object = {"role": "assistant", "content": answer.text}
    if calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in calls
        ]
    return message


def complaints(calls: Sequence[ToolCallRequest], problem: str) -> Objects:
    """A result for each call, so that the conversation stays valid."""
    return [tool_message(call.id, f"Not run: {problem}. Call again.") for call in calls]


def tool_message(call_id: str, content: str) -> Object:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def run_call(call: CheckedCall, key: str, context: BlockContext) -> Object:
    """Run a tool and put its result, or its error, into the conversation."""
    try:
        result: JSON = context.ports.tools.call(
            call.offer, pins_of(call), key=context.key(key), cancel=context.cancel
        )
    except PortError as error:
        return tool_message(call.id, json.dumps({"error": str(error)}, ensure_ascii=False))
    return tool_message(call.id, as_text(result))


def pins_of(call: CheckedCall) -> Object:
    """The arguments by the pin of the node they belong to; those not given are null."""
    names = call.offer.parameters.get("properties") or {}
    return {call.offer.pins.get(name, name): call.arguments.get(name) for name in names}
