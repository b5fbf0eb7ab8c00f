"""System check of the block catalogue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error

from blocks.errors import RegistryError
from blocks.registry import get_registry


def check_blocks(app_configs: Any = None, **kwargs: Any) -> Sequence[CheckMessage]:
    """Report an invalid catalogue, and blocks that lack a working or a failing example."""
    try:
        registry = get_registry()
    except RegistryError as error:
        return [Error(str(error), id="blocks.E001")]
    return [
        Error(
            f"The block {block.name!r} in {registry.origin(block)} needs an example that works and one that fails.",
            id="blocks.E002",
        )
        for block in registry
        if not (
            any(example.fails for example in block.examples)
            and any(not example.fails for example in block.examples)
        )
    ]
