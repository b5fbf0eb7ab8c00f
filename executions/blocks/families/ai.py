"""The AI family: prompts, one way to ask the model, and JSON out of what it says."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from executions.blocks.base import CredentialsNeed
from executions.blocks.coercion import parse_json
from executions.blocks.context import BlockContext
from executions.blocks.errors import BlockCancelled, BlockFailed
from executions.blocks.schema import JSON, ModelName, Object, Objects, pin
from executions.blocks.templates import render_template
from llm.errors import BadModelAnswer, Cancelled, ContextTooLong, LLMError, ModelCut, ModelUnavailable
from llm.types import Completion, Request, ToolSpec

LLM = CredentialsNeed(provider="llm", kind="api_key", required=False, note="the platform's own model is used")
LEGACY_KEYS = ("api_key",)
OLLAMA_HOST = "localhost:11434"
WORTH_RETRYING = (ModelUnavailable, ModelCut, BadModelAnswer)
MAX_TRIES = 10
MAX_SHORTENINGS = 8
CUT_NOTE = "\n[… cut to fit …]\n"
FENCED = re.compile(r"```(?:json)?[ \t]*\n(?P<body>.*?)\n?```", re.DOTALL)
OPENING_TAG, CLOSING_TAG = "<json_output", "</json_output>"
MAX_TAG_CHARACTERS = 100  # of what stands in the opening tag besides its name
MODEL_NOTE = "Any model name; mapped to what the platform serves. Empty means its default."


def model_pin(*, advanced: bool = False) -> Any:
    """The pin `model`."""
    return pin("", description=MODEL_NOTE, advanced=advanced)


def ollama_pin() -> Any:
    """A pin of old agents: the platform's endpoint is asked instead."""
    return pin(OLLAMA_HOST, description="Not used: the platform's own endpoint is asked.", advanced=True)


def fill_prompt(prompt: str, values: Mapping[str, JSON]) -> str:
    """The prompt with its variables filled in; without values it is taken as it is, braces and all."""
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
    tries: int = 1,
    shorten: bool = False,
) -> Completion:
    """One answer of the model, metered; raises BlockFailed.

    Trouble on the way is tried again; a refusal, a wrong key, a rate limit or a silent server is not.
    """
    request = Request(
        model=model.strip(),
        messages=list(messages),
        tools=tools,
        max_output_tokens=max_tokens if max_tokens and max_tokens > 0 else None,
        user=context.user_id,
        response_format={"type": "json_object"} if as_json else None,
    )
    left = min(max(tries, 1), MAX_TRIES)
    shortenings = MAX_SHORTENINGS if shorten else 0
    while True:
        context.check()
        left -= 1
        try:
            completion = context.ports.model.complete(request, context.cancel)
        except Cancelled:
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
            raise BlockFailed(error.user_message) from error
        else:
            tokens = completion.usage.input_tokens + completion.usage.output_tokens
            context.meter.add(tokens=tokens, model_cost=completion.cost)
            return completion


def shorten_messages(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Cut the longest text in its middle to half its length."""
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
    """The JSON in a model's answer: in its tag, in a fence, or the whole of it; raises ValueError."""
    tagged = find_tagged(text)
    fenced = FENCED.search(text if tagged is None else tagged)
    if fenced:
        return parse_json(fenced["body"].strip())
    return parse_json((text if tagged is None else tagged).strip())


def find_tagged(text: str) -> str | None:
    """What stands in the first tag that has an end; goes through the text once, whatever is in it."""
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
    """A value for a prompt."""
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)
