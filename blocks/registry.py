"""The block catalogue: the blocks of this package and of other installed apps, by id and name."""

from __future__ import annotations

import functools
import pkgutil
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

from django.apps import apps
from django.core.checks import CheckMessage, Error
from django.utils.module_loading import module_has_submodule

from blocks import catalog
from blocks.base import Block
from blocks.errors import DuplicateBlock, RegistryError, UnknownBlock

EXTENSION_MODULE = "copilot_blocks"


class BlockRegistry:
    """Blocks by id and by name, both unique."""

    def __init__(self, found: Iterable[tuple[Block, str]]) -> None:
        self._by_id: dict[str, Block] = {}
        self._by_name: dict[str, Block] = {}
        self._origin: dict[str, str] = {}
        for block, origin in found:
            self._add(block, origin)

    def __iter__(self) -> Iterator[Block]:
        return iter(self._by_id.values())

    def __len__(self) -> int:
        return len(self._by_id)

    def __contains__(self, block_id: object) -> bool:
        return isinstance(block_id, str) and block_id.lower() in self._by_id

    def get(self, block_id: str) -> Block:
        """Return the block with that id; raise UnknownBlock."""
        try:
            return self._by_id[block_id.lower()]
        except KeyError:
            raise UnknownBlock(f"There is no block {block_id!r} here.") from None

    def get_by_name(self, name: str) -> Block:
        """Return the block with that name; raise UnknownBlock."""
        try:
            return self._by_name[_plain(name)]
        except KeyError:
            raise UnknownBlock(f"There is no block named {name!r} here.") from None

    def origin(self, block: Block) -> str:
        """Return the module that defines a block."""
        return self._origin[block.id]

    def _add(self, block: Block, origin: str) -> None:
        for other in (self._by_id.get(block.id), self._by_name.get(_plain(block.name))):
            if other is block:
                return
            if other is not None:
                raise DuplicateBlock(
                    f"The block {block.name!r} ({block.id}) in {origin} has the id or the name of {other.name!r} "
                    f"({other.id}) in {self._origin[other.id]}. Change one of them."
                )
        self._by_id[block.id] = block
        self._by_name[_plain(block.name)] = block
        self._origin[block.id] = origin


@functools.cache
def get_registry() -> BlockRegistry:
    """Return the catalogue of this process, loaded on first use; raise RegistryError if it is invalid."""
    return BlockRegistry(found for module in discover() for found in blocks_of(module))


def discover() -> Iterator[ModuleType]:
    """Yield the modules that may define blocks: ours, then `copilot_blocks` of each installed app."""
    for info in pkgutil.iter_modules(catalog.__path__):
        yield import_module(f"{catalog.__name__}.{info.name}")
    for config in apps.get_app_configs():
        if config.module is not None and module_has_submodule(config.module, EXTENSION_MODULE):
            yield import_module(f"{config.name}.{EXTENSION_MODULE}")


def blocks_of(module: ModuleType) -> Iterator[tuple[Block, str]]:
    """Yield the blocks of a module, in the order of definition."""
    for value in vars(module).values():
        if isinstance(value, Block):
            yield value, module.__name__


def _plain(name: str) -> str:
    return " ".join(name.lower().split())


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
