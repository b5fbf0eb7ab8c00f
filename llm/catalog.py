"""Known models by name: the size of their context window, and whether they accept pictures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class ModelInfo:
    """The abilities of one model."""

    context_tokens: int
    sees_images: bool


UNKNOWN = ModelInfo(
    context_tokens=32_000, sees_images=False
)  # a careful guess: most local models manage this


def _sees(context_tokens: int) -> ModelInfo:
    return ModelInfo(context_tokens=context_tokens, sees_images=True)


def _blind(context_tokens: int) -> ModelInfo:
    return ModelInfo(context_tokens=context_tokens, sees_images=False)


# By prefix of the name; the longest matching prefix counts.
MODELS: Mapping[str, ModelInfo] = {
    "offline": _blind(128_000),
    "gpt-6": _sees(1_050_000),
    "gpt-5.6": _sees(1_000_000),
    "gpt-5.5": _sees(1_000_000),
    "gpt-5.4": _sees(1_000_000),
    "gpt-5.4-mini": _sees(400_000),
    "gpt-5.4-nano": _sees(400_000),
    "gpt-5": _sees(400_000),
    "gpt-5-chat": _sees(128_000),
    "gpt-4.1": _sees(1_000_000),
    "gpt-4o": _sees(128_000),
    "chatgpt-4o": _sees(128_000),
    "gpt-4-turbo": _sees(128_000),
    "gpt-4": _blind(8_192),
    "gpt-3.5": _blind(16_385),
    "gpt-oss": _blind(131_072),
    "o1": _sees(200_000),
    "o1-mini": _blind(128_000),
    "o3": _sees(200_000),
    "o3-mini": _blind(200_000),
    "o4-mini": _sees(200_000),
    "claude": _sees(200_000),
    "claude-opus-4-6": _sees(1_000_000),
    "claude-opus-4-7": _sees(1_000_000),
    "claude-opus-4-8": _sees(1_000_000),
    "claude-opus-5": _sees(1_000_000),
    "claude-sonnet-5": _sees(1_000_000),
    "claude-haiku-5": _sees(1_000_000),
    "claude-fable-5": _sees(1_000_000),
    "gemini": _sees(1_000_000),
    "gemma-3": _sees(128_000),
    "gemma3": _sees(128_000),
    "deepseek": _blind(128_000),
    "deepseek-flash": _sees(1_000_000),
    "deepseek-v4": _blind(1_000_000),
    "grok-4": _sees(256_000),
    "grok-3": _blind(131_072),
    "mistral-large": _sees(256_000),
    "mistral-medium": _sees(128_000),
    "mistral-small": _sees(128_000),
    "pixtral": _sees(128_000),
    "llama-4": _sees(1_000_000),
    "llama4": _sees(1_000_000),
    "llama-3": _blind(128_000),
    "llama3": _blind(128_000),
    "llama3.2-vision": _sees(128_000),
    "llava": _sees(32_000),
    "qwen3.8": _blind(1_000_000),
    "qwen3-vl": _sees(256_000),
    "qwen2.5vl": _sees(128_000),
    "qwen": _blind(128_000),
    "kimi-k2": _blind(256_000),
    "glm-4.5": _blind(128_000),
    "glm-5": _blind(200_000),
}


NOT_FOR_CHAT = (
    "embed",
    "whisper",
    "tts",
    "rerank",
    "moderation",
    "dall-e",
    "image",
    "transcribe",
    "realtime",
    "audio",
)


def is_for_chat(name: str) -> bool:
    """Return whether a model of that name may answer messages; servers list models for other purposes too."""
    return not any(word in name.lower() for word in NOT_FOR_CHAT)


def known_info(name: str) -> ModelInfo:
    """Return the abilities of a model by its name; a careful guess if the name is unknown."""
    return find_by_name(MODELS, name) or UNKNOWN


def find_by_name(table: Mapping[str, T], name: str) -> T | None:
    """Return the entry whose key is the longest prefix of the name, ignoring `provider/` and `:tag`."""
    plain = name.lower().rsplit("/", 1)[-1].split(":", 1)[0]
    dashed = plain.replace(".", "-")  # some providers write claude-opus-4.6, others claude-opus-4-6
    fitting = [key for key in table if plain.startswith(key) or dashed.startswith(key)]
    return table[max(fitting, key=len)] if fitting else None
