"""Prices of models: USD per million tokens, by prefix of the model's name."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from django.conf import settings

from llm.catalog import find_by_name
from llm.types import Usage

logger = logging.getLogger(__name__)

MILLION = Decimal(1_000_000)
LONG_INPUT_FACTOR = Decimal(2)
LONG_OUTPUT_FACTOR = Decimal("1.5")
CACHE_WRITE_FACTOR = Decimal("1.25")


@dataclass(frozen=True, kw_only=True)
class Price:
    """USD per million tokens; requests with more than `long_from` input tokens cost twice the input, 1.5 the output.

    `cached` is for tokens read from the provider's prompt cache, `cache_write` for those written to it.
    """

    input: Decimal
    output: Decimal
    cached: Decimal
    cache_write: Decimal
    long_from: int | None = None

    def cost(self, usage: Usage) -> Decimal:
        cached = min(usage.cached_tokens, usage.input_tokens)
        written = min(usage.cache_write_tokens, usage.input_tokens - cached)
        fresh = usage.input_tokens - cached - written
        input_cost = fresh * self.input + cached * self.cached + written * self.cache_write
        output_cost = usage.output_tokens * self.output
        if self.long_from is not None and usage.input_tokens > self.long_from:
            input_cost *= LONG_INPUT_FACTOR
            output_cost *= LONG_OUTPUT_FACTOR
        return (input_cost + output_cost) / MILLION


def _price(
    input: str, output: str, cached: str, long_from: int | None = None, *, cache_write: str | None = None
) -> Price:
    return Price(
        input=Decimal(input),
        output=Decimal(output),
        cached=Decimal(cached),
        cache_write=Decimal(input if cache_write is None else cache_write),
        long_from=long_from,
    )


def _writing(input: str, output: str, cached: str, long_from: int | None = None) -> Price:
    """Return the price of a model whose provider takes a quarter more for what it writes to its cache."""
    price = _price(input, output, cached, long_from)
    return replace(price, cache_write=price.input * CACHE_WRITE_FACTOR)


FREE = _price("0", "0", "0")

# List prices of November 2026, standard tier. COPILOT_PRICES_FILE overrides and extends them.
PRICES: Mapping[str, Price] = {
    "offline": FREE,
    "gpt-6-astra": _writing("10", "50", "1", 272_000),
    "gpt-6.1-sol": _writing("2", "10", "0.10", 272_000),
    "gpt-6.1-terra": _writing("1", "5", "0.05", 272_000),
    "gpt-6-sol": _writing("2", "10", "0.20", 272_000),
    "gpt-6-luna": _writing("0.10", "0.50", "0.01", 272_000),
    "gpt-5.6-sol": _writing("5", "30", "0.50", 272_000),
    "gpt-5.6-terra": _writing("2", "12", "0.20", 272_000),
    "gpt-5.6-luna": _writing("0.20", "1.20", "0.02", 272_000),
    "gpt-5.4": _price("2.50", "15", "0.25", 272_000),
    "gpt-5.4-mini": _price("0.75", "4.50", "0.075"),
    "gpt-5.4-nano": _price("0.20", "1.25", "0.02"),
    "gpt-5.2": _price("1.75", "14", "0.175"),
    "gpt-5.1": _price("1.25", "10", "0.125"),
    "gpt-5": _price("1.25", "10", "0.125"),
    "gpt-5-mini": _price("0.25", "2", "0.025"),
    "gpt-5-nano": _price("0.05", "0.40", "0.005"),
    "gpt-4.1": _price("2", "8", "0.50"),
    "gpt-4.1-mini": _price("0.40", "1.60", "0.10"),
    "gpt-4.1-nano": _price("0.10", "0.40", "0.025"),
    "gpt-4o": _price("2.50", "10", "1.25"),
    "gpt-4o-mini": _price("0.15", "0.60", "0.075"),
    "gpt-4-turbo": _price("10", "30", "10"),
    "gpt-4": _price("30", "60", "30"),
    "gpt-3.5-turbo": _price("0.50", "1.50", "0.50"),
    "o1": _price("15", "60", "7.50"),
    "o1-mini": _price("1.10", "4.40", "0.55"),
    "o3": _price("2", "8", "0.50"),
    "o3-mini": _price("1.10", "4.40", "0.55"),
    "o4-mini": _price("1.10", "4.40", "0.275"),
    "claude-fable-5": _writing("10", "50", "1"),
    "claude-opus-5-5": _writing("4", "20", "0.20"),
    "claude-opus-5": _writing("5", "25", "0.50"),
    "claude-opus-4-5": _writing("5", "25", "0.50"),
    "claude-opus-4-6": _writing("5", "25", "0.50"),
    "claude-opus-4-7": _writing("5", "25", "0.50"),
    "claude-opus-4-8": _writing("5", "25", "0.50"),
    "claude-opus-4": _writing("15", "75", "1.50"),
    "claude-sonnet-5-5": _writing("2", "10", "0.10"),
    "claude-sonnet-5": _writing("2", "10", "0.20"),
    "claude-sonnet-4": _writing("3", "15", "0.30"),
    "claude-3-7-sonnet": _writing("3", "15", "0.30"),
    "claude-3-5-sonnet": _writing("3", "15", "0.30"),
    "claude-haiku-5-5": _writing("0.10", "0.50", "0.01"),
    "claude-haiku-4-5": _writing("1", "5", "0.10"),
    "claude-3-5-haiku": _writing("0.80", "4", "0.08"),
    "gemini-2.5-pro": _price("1.25", "10", "0.125", 200_000),
    "gemini-2.5-flash": _price("0.30", "2.50", "0.03"),
    "gemini-2.5-flash-lite": _price("0.10", "0.40", "0.01"),
    "deepseek-flash": _price("0.30", "1.20", "0.006"),
    "deepseek-v4-flash": _price("0.30", "1.20", "0.006"),
    "deepseek-v4-pro": _price("1.32", "3.96", "0.044"),
    "qwen3.8-max": _price("2", "6", "2"),
    "qwen3.8-flash": _price("0.15", "0.47", "0.15"),
}


def cost_of(
    model: str, usage: Usage, *, is_local: bool = False, own: Mapping[str, Price] = MappingProxyType({})
) -> Decimal:
    """Return the cost in USD; 0 for local servers and `:free` models, 0 with one warning for a model without a price.

    `own` are the prices of the endpoint, which take precedence.
    """
    if model.endswith(":free"):
        return Decimal(0)
    price = find_by_name(own, model) or find_by_name(_overrides(), model)
    price = price or (None if is_local else find_by_name(PRICES, model))
    if price is not None:
        return price.cost(usage)
    if not is_local:
        _warn_once(model)
    return Decimal(0)


def _overrides() -> Mapping[str, Price]:
    return _read_prices(str(getattr(settings, "COPILOT_PRICES_FILE", "") or ""))


def read_price(row: Mapping[str, object]) -> Price:
    """Read one entry of a price file; raises KeyError or ArithmeticError if it is malformed."""
    return _price(
        str(row["input"]),
        str(row["output"]),
        str(row.get("cached", row["input"])),
        cache_write=str(row.get("cache_write", row["input"])),
    )


@lru_cache(maxsize=8)
def _read_prices(path: str) -> Mapping[str, Price]:
    """Read `{"model": {"input": 1, "output": 2, "cached": 0.1, "cache_write": 1.25}}`, USD per million tokens.

    Read once per process; without a price of their own, tokens read from or written to the cache cost what others do.
    """
    if not path:
        return {}
    try:
        rows = json.loads(Path(path).read_text())
        return {name.lower(): read_price(row) for name, row in rows.items()}
    except (OSError, ValueError, ArithmeticError, KeyError, TypeError, AttributeError):
        logger.exception(
            "COPILOT_PRICES_FILE cannot be read; the built-in prices are used", extra={"path": path}
        )
        return {}


@lru_cache(maxsize=1024)
def _warn_once(model: str) -> None:
    logger.warning("No price is known for this model; its cost counts as 0", extra={"model": model})
