"""What an attempt works with: threads, the catalogue of blocks, the model; a test brings its own."""

from __future__ import annotations

from dataclasses import dataclass, field

from executions.blocks.adapters.model import PlatformModel
from executions.blocks.registry import Registry, get_registry
from executions.engine.crew import Crew, crew
from executions.ports import ModelPort


@dataclass(frozen=True, kw_only=True)
class Equipment:
    """The process's own unless said otherwise."""

    crew: Crew = field(default_factory=crew)
    registry: Registry = field(default_factory=get_registry)
    model: ModelPort = field(default_factory=PlatformModel)
