"""Rounds of an orchestrator: call the model with tools, validate its calls, and report errors back to it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from blocks.coercion import as_text, parse_json
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.pins import MISSING
from blocks.ports import PortError, StorePort, StoreScope, ToolOffer
from blocks.schema import JSON, Object, Objects
from blocks.support.ai import ask
from llm.carry import CARRY, Carry
from llm.types import Completion, ToolCallRequest, ToolSpec


class AnswerCarries:
    """Provider data that must accompany earlier answers with tool calls, kept in the node's store.

    It is not part of the conversation, which is a visible output of the node. The key is a hash of the answer, so
    storing it twice has no further effect.
    """

    def __init__(self, store: StorePort) -> None:
        self._store = store
        self._known: dict[str, Carry] = {}

    def keep(self, message: Object, carry: Carry) -> None:
        """Store the carry of an answer that called tools."""
        if "tool_calls" not in message:
            return
        key = key_of(message)
        self._known[key] = carry
        if carry:
            self._store.put(StoreScope.NODE, key, carry.stored())

    def with_messages(self, messages: Objects) -> Objects:
        """Return the conversation with the carries of this and earlier runs of the node."""
        return [self._with(message) if message.get("tool_calls") else message for message in messages]

    def _with(self, message: Object) -> Object:
        key = key_of(message)
        if key not in self._known:
            stored = self._store.get(StoreScope.NODE, key)
            self._known[key] = Carry() if stored is MISSING else Carry.read(stored)
        carry = self._known[key]
        return {**message, CARRY: carry} if carry else message


def key_of(message: Object) -> str:
    answer = json.dumps([message.get("content"), message["tool_calls"]], sort_keys=True)
    return f"carry:{hashlib.sha256(answer.encode()).hexdigest()}"


@dataclass(frozen=True, kw_only=True)
class CheckedCall:
    """A validated tool call."""

    id: str
    offer: ToolOffer
    arguments: Object


@dataclass(frozen=True, kw_only=True)
class OrchestratorRound:
    """One answer: tool calls, or the final `text` without calls; `messages` is the conversation after it."""

    text: str
    calls: tuple[CheckedCall, ...]
    messages: Objects


@dataclass(frozen=True, kw_only=True)
class OrchestratorModel:
    """The model settings of an orchestrator."""

    offers: Sequence[ToolOffer]
    model: str
    max_tokens: int | None
    retry: int
    many_calls: bool
    shorten: bool
    carries: AnswerCarries

    def run(self, messages: Objects, context: BlockContext) -> OrchestratorRound:
        """Run one round; report invalid calls to the model and retry, then raise BlockFailed."""
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
            message = to_message(answer, wanted)
            self.carries.keep(message, answer.carry)
            try:
                calls = tuple(check_call(call, self.offers) for call in wanted)
            except ValueError as error:
                problem = str(error)
                messages = [*messages, message, *error_results(wanted, problem)]
                continue
            return OrchestratorRound(text=answer.text, calls=calls, messages=[*messages, message])
        raise BlockFailed(f"The model did not call the tools correctly: {problem}.")


def to_spec(offer: ToolOffer) -> ToolSpec:
    return ToolSpec(name=offer.name, description=offer.description, parameters=dict(offer.parameters))


def check_call(call: ToolCallRequest, offers: Sequence[ToolOffer]) -> CheckedCall:
    """Validate a call; raise ValueError with a message for the model."""
    offer = next((offer for offer in offers if offer.name == call.name), None)
    if offer is None:
        raise ValueError(
            f"there is no tool {call.name!r}; available are {', '.join(offer.name for offer in offers)}"
        )
    try:
        arguments = parse_json(call.arguments or "{}")
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        raise ValueError(f"the arguments of {call.name} are not a JSON object")
    known = offer.parameters.get("properties") or {}
    if unknown := sorted(set(arguments) - set(known)):
        raise ValueError(f"{call.name} has no argument {', '.join(unknown)}; it has {', '.join(known)}")
    required = offer.parameters.get("required") or []
    if missing := [name for name in required if name not in arguments]:
        raise ValueError(f"{call.name} needs {', '.join(missing)}")
    return CheckedCall(id=call.id, offer=offer, arguments=arguments)


def to_message(answer: Completion, calls: Sequence[ToolCallRequest]) -> Object:
    """Return the model's message for the conversation."""
    message: Object = {"role": "assistant", "content": answer.text}
    if calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in calls
        ]
    return message


def error_results(calls: Sequence[ToolCallRequest], problem: str) -> Objects:
    """Return an error result for each call, so that the conversation stays valid."""
    return [tool_message(call.id, f"Not run: {problem}. Call again.") for call in calls]


def tool_message(call_id: str, content: str) -> Object:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def run_call(call: CheckedCall, key: str, context: BlockContext) -> Object:
    """Run a tool and return its result or error as a message."""
    try:
        result: JSON = context.ports.tools.call(
            call.offer, pins_of(call), key=context.key(key), cancel=context.cancel
        )
    except PortError as error:
        return tool_message(call.id, json.dumps({"error": str(error)}, ensure_ascii=False))
    return tool_message(call.id, as_text(result))


def pins_of(call: CheckedCall) -> Object:
    """Return the arguments by pin of the node; missing ones are null."""
    names = call.offer.parameters.get("properties") or {}
    return {call.offer.pins.get(name, name): call.arguments.get(name) for name in names}
