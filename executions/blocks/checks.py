"""The system check of the block catalogue: a duplicate or a bad declaration is found before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error

from executions.blocks.errors import RegistryError
from executions.blocks.registry import get_registry


def check_blocks(app_configs: Any = None, **kwargs: Any) -> Sequence[CheckMessage]:
    """One error when the catalogue cannot be read; one per block without an example of both kinds."""
    try:
        registry = get_registry()
    except RegistryError as error:
        return [Error(str(error), id="executions.E001")]
    return [
        Error(
            f"The block {block.name!r} in {registry.origin(block)} needs an example that works and one that fails.",
            id="executions.E002",
        )
        for block in registry
        if not (
            any(example.fails for example in block.examples)
            and any(not example.fails for example in block.examples)
        )
    ]
