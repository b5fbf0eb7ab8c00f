"""Registry for what runs a turn of the copilot for an agent; chat fills it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from blocks.ports import JSON, CopilotAnswer, PortError, TurnOrder, TurnRunner
from durable.stop_signal import StopSignal


@dataclass(frozen=True, kw_only=True)
class TurnScope:
    """Who asks for the turn and from where; it may do at most what is permitted here."""

    user_id: int
    execution_id: uuid.UUID
    node_execution_id: uuid.UUID
    session_id: uuid.UUID | None = None
    permissions: Mapping[str, JSON] = field(default_factory=dict)
    outside_sources: tuple[str, ...] = ()  # where what the turn is asked may come from


class UnfilledTurnRunner:
    """Refuses every turn: the default until chat registers a runner."""

    def run(self, order: TurnOrder, cancel: StopSignal) -> CopilotAnswer:
        raise PortError("The copilot cannot be asked from an agent here: no chat is installed.")


Make = Callable[[TurnScope], TurnRunner]


class TurnRunners:
    """Filled once, when Django is set up."""

    def __init__(self) -> None:
        self._make: Make = lambda scope: UnfilledTurnRunner()

    def fill(self, make: Make) -> None:
        self._make = make

    def runner_for(self, scope: TurnScope) -> TurnRunner:
        return self._make(scope)


turn_runners = TurnRunners()
