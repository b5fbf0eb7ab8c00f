"""The protocols that model servers speak, each behind the same small interface; see `base.Dialect`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from llm.dialects.anthropic import AnthropicDialect
from llm.dialects.base import Dialect
from llm.dialects.chat import ChatDialect
from llm.dialects.responses import ResponsesDialect
from llm.endpoint import Endpoint, origin_of

DIALECTS: Mapping[str, type[Dialect]] = {
    "chat": ChatDialect,
    "anthropic": AnthropicDialect,
    "responses": ResponsesDialect,
}


@lru_cache(maxsize=256)
def dialect_for(endpoint: Endpoint, model: str) -> Dialect:
    """Return the dialect of one model at one endpoint: one object per process, because it learns."""
    return DIALECTS[endpoint.dialect](
        origin=origin_of(endpoint, model), is_openai=endpoint.is_openai, effort=endpoint.effort
    )
