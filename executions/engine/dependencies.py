"""Dependencies of the engine: threads, the block registry, the model, the way to the web."""

from __future__ import annotations

from dataclasses import dataclass, field

from blocks.adapters.live import GuardedWeb
from blocks.adapters.model import PlatformModel
from blocks.ports import HttpPort, ModelPort
from blocks.registry import BlockRegistry, get_registry
from executions.engine.thread_pool import BlockThreads, block_threads


@dataclass(frozen=True, kw_only=True)
class EngineDependencies:
    """Default to those of the process; a test passes its own."""

    threads: BlockThreads = field(default_factory=block_threads)
    registry: BlockRegistry = field(default_factory=get_registry)
    model: ModelPort = field(default_factory=PlatformModel)
    http: HttpPort = field(default_factory=GuardedWeb)
