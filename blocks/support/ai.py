"""Shared code of the AI blocks: prompts, model calls, and JSON in answers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from blocks.base import Block, Category, CredentialsNeed, Effects, Emissions, Leaves, block
from blocks.coercion import as_text, parse_json
from blocks.context import BlockContext
from blocks.errors import BlockCancelled, BlockFailed
from blocks.schema import JSON, ModelName, Object, Objects, pin
from blocks.templates import render_template
from llm.errors import (
    AnswerCancelled,
    BadModelAnswer,
    BadModelRequest,
    ContextTooLong,
    LLMError,
    ModelCut,
    ModelUnavailable,
)
from llm.types import Completion, Request, ToolSpec

LLM = CredentialsNeed(
    provider="llm", kind="api_key", required=False, note="otherwise the platform's model is used"
)
LEGACY_KEYS = ("api_key",)
OLLAMA_HOST = "localhost:11434"
WORTH_RETRYING = (ModelUnavailable, ModelCut, BadModelAnswer)
MAX_TRIES = 10
MAX_SHORTENINGS = 8
CUT_NOTE = "\n[… shortened …]\n"
FENCED = re.compile(r"```(?:json)?[ \t]*\n(?P<body>.*?)\n?```", re.DOTALL)
OPENING_TAG, CLOSING_TAG = "<json_output", "</json_output>"
MAX_TAG_CHARACTERS = 100  # attributes of the opening tag
MODEL_NOTE = "Model name; mapped to a model of the platform. Empty means the default."
ROLES = frozenset({"system", "user", "assistant", "tool"})


def ai_block(**facts: Any) -> Callable[[Callable[[Any, BlockContext], Emissions]], Block]:
    """Declare a block that asks a language model: it can be run again and nothing leaves the site but the prompt."""
    return block(
        category=Category.AI,
        effects=Effects.NETWORK,
        reads_outside=False,
        leaves=Leaves.NOTHING,
        credentials=LLM,
        ignored_inputs=LEGACY_KEYS,
        **facts,
    )


def model_pin(*, advanced: bool = False) -> Any:
    """Declare the pin `model`."""
    return pin("", description=MODEL_NOTE, advanced=advanced)


def ollama_pin() -> Any:
    """Declare the pin `ollama_host` of old agents, which is ignored."""
    return pin(OLLAMA_HOST, description="Not used: the platform's own endpoint is called.", advanced=True)


def fill_prompt(prompt: str, values: Mapping[str, JSON]) -> str:
    """Fill in the variables of a prompt; without values it is returned unchanged, including braces."""
    return render_template(prompt, values) if values else prompt


def make_messages(system: str, prompt: str) -> Objects:
    messages: Objects = [{"role": "system", "content": system}] if system else []
    return [*messages, {"role": "user", "content": prompt}] if prompt else messages


def ask(
    messages: Sequence[Object],
    context: BlockContext,
    *,
    model: ModelName = "",
    max_tokens: int | None = None,
    tools: Sequence[ToolSpec] = (),
    as_json: bool = False,
    schema: Mapping[str, JSON] | None = None,
    tries: int = 1,
    shorten: bool = False,
) -> Completion:
    """Return one answer of the model and meter its usage; raise BlockFailed.

    Transient failures are retried; a refusal, a wrong key, a rate limit or a silent server is not. With a `schema` the
    model server is asked to keep to it; one that refuses is asked without it.
    """
    request = Request(
        model=model.strip(),
        messages=list(messages),
        tools=tools,
        max_output_tokens=max_tokens if max_tokens and max_tokens > 0 else None,
        user=context.user_id,
        response_format=answer_format(as_json, schema),
    )
    left = min(max(tries, 1), MAX_TRIES)
    shortenings = MAX_SHORTENINGS if shorten else 0
    while True:
        context.check()
        left -= 1
        try:
            completion = context.ports.model.complete(request, context.cancel)
        except AnswerCancelled:
            raise BlockCancelled from None
        except WORTH_RETRYING as error:
            if left <= 0:
                raise BlockFailed(error.user_message) from error
        except ContextTooLong as error:
            if shortenings == 0:
                raise BlockFailed(error.user_message) from error
            shortenings -= 1
            left += 1
            request = replace(request, messages=shorten_messages(request.messages))
        except LLMError as error:
            if not refuses_format(request, error):
                raise BlockFailed(error.user_message) from error
            left += 1
            request = replace(request, response_format=None)
        else:
            tokens = completion.usage.input_tokens + completion.usage.output_tokens
            context.meter.add(tokens=tokens, model_cost=completion.cost)
            return completion


def answer_format(as_json: bool, schema: Mapping[str, JSON] | None) -> Object | None:
    """Return what a model server is told about the form of its answer."""
    if schema is not None:
        return {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": dict(schema), "strict": True},
        }
    return {"type": "json_object"} if as_json else None


def refuses_format(request: Request, error: LLMError) -> bool:
    """Return whether a server may have refused the form of the answer, in words that name no field."""
    may_be_it = isinstance(error, BadModelRequest) and error.detail.startswith(("HTTP 400", "HTTP 422"))
    return may_be_it and request.response_format is not None


def shorten_messages(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Shorten the longest message to half its length by cutting out its middle."""
    texts = [message.get("content") for message in messages]
    lengths = [len(text) if isinstance(text, str) else 0 for text in texts]
    longest = lengths.index(max(lengths))
    text = str(texts[longest] or "")
    quarter = len(text) // 4
    cut = text[:quarter] + CUT_NOTE + text[len(text) - quarter :]
    return [
        {**message, "content": cut} if index == longest else message for index, message in enumerate(messages)
    ]


def find_json(text: str) -> JSON:
    """Return the JSON in an answer: in its tag, in a fence, or the whole answer; raise ValueError."""
    tagged = find_tagged(text)
    fenced = FENCED.search(text if tagged is None else tagged)
    if fenced:
        return parse_json(fenced["body"].strip())
    return parse_json((text if tagged is None else tagged).strip())


def find_tagged(text: str) -> str | None:
    """Return the content of the first tag, or None; a single pass over the text."""
    start = text.find(OPENING_TAG)
    while start >= 0:
        inside = start + len(OPENING_TAG)
        begin = text.find(">", inside, inside + MAX_TAG_CHARACTERS + 1)
        if begin >= 0:
            end = text.find(CLOSING_TAG, begin + 1)
            return text[begin + 1 : end] if end >= 0 else None
        start = text.find(OPENING_TAG, inside)
    return None


def show_json(value: JSON) -> str:
    """Format a value for a prompt."""
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)


def usable_messages(messages: list[JSON] | None) -> Objects:
    """Return the valid messages in the form a model accepts; others are dropped."""
    usable: Objects = []
    for message in messages or []:
        if isinstance(message, dict) and message.get("role") in ROLES:
            cleaned = clean(message)
            if cleaned is not None:
                usable.append(cleaned)
    return usable


def clean(message: Object) -> Object | None:
    content = message.get("content")
    text = as_text(content) if content is not None else ""
    role = message["role"]
    if role == "assistant" and isinstance(message.get("tool_calls"), list) and message["tool_calls"]:
        return {"role": role, "content": text, "tool_calls": message["tool_calls"]}
    if role == "tool":
        call_id = message.get("tool_call_id")
        return {"role": role, "content": text, "tool_call_id": str(call_id)} if call_id else None
    return {"role": role, "content": text} if text else None


def pending_calls(messages: Objects) -> list[str]:
    """Return the ids of tool calls without a result, in order."""
    asked: dict[str, None] = {}
    for message in messages:
        for call in message.get("tool_calls") or []:
            if isinstance(call, dict) and call.get("id"):
                asked[str(call["id"])] = None
        if message["role"] == "tool":
            asked.pop(str(message["tool_call_id"]), None)
    return list(asked)
