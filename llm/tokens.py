"""Token estimates, without a tokenizer: good enough for limits."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from llm.carry import CARRY
from llm.prefix import PrefixedMessages

CHARACTERS_PER_TOKEN = 4
TOKENS_PER_MESSAGE = 4
TOKENS_PER_IMAGE = 1_000


def estimate_tokens(text: str) -> int:
    """Estimate: about four Latin characters to a token; a character of a dense script (Chinese, emoji) is about one."""
    dense = 0 if text.isascii() else sum(character > "\u2e7f" for character in text)
    return dense + -(-(len(text) - dense) // CHARACTERS_PER_TOKEN)


def estimate_message_tokens(messages: Sequence[Mapping[str, Any]]) -> int:
    """Estimate the tokens of a request's messages, pictures and tool calls included."""
    if isinstance(messages, PrefixedMessages):
        counted = messages.prefix.tokens
        return counted + estimate_message_tokens(messages.opening) + estimate_message_tokens(messages.rest)
    return sum(TOKENS_PER_MESSAGE + _content_tokens(message) for message in messages)


def _content_tokens(message: Mapping[str, Any]) -> int:
    content = message.get("content") or ""
    calls = message.get("tool_calls")
    tokens = estimate_tokens(json.dumps(calls, default=str)) if calls else 0
    if carry := message.get(CARRY):
        tokens += estimate_tokens(carry.text)
    if isinstance(content, str):
        return tokens + estimate_tokens(content)
    return tokens + sum(_part_tokens(part) for part in content)


def _part_tokens(part: Mapping[str, Any]) -> int:
    return TOKENS_PER_IMAGE if part.get("type") == "image_url" else estimate_tokens(str(part.get("text", "")))
