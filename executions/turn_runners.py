"""Where chat puts what runs a turn of the copilot for an agent."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from executions.ports import JSON, PortError, TurnAnswer, TurnOrder, TurnRunner
from llm.types import CancelSignal


@dataclass(frozen=True, kw_only=True)
class TurnScope:
    """For whom and from where the turn is asked for; it may do at most what is permitted here."""

    user_id: int
    execution_id: uuid.UUID
    node_execution_id: uuid.UUID
    session_id: uuid.UUID | None = None
    permissions: Mapping[str, JSON] = field(default_factory=dict)
    outside_sources: tuple[str, ...] = ()  # where what the turn is asked may come from


class NoTurns:
    """Until somebody fills it in."""

    def run(self, order: TurnOrder, cancel: CancelSignal) -> TurnAnswer:
        raise PortError("The copilot cannot be asked from an agent here: no chat is installed.")


Make = Callable[[TurnScope], TurnRunner]


class TurnRunners:
    """Filled once, when Django is set up."""

    def __init__(self) -> None:
        self._make: Make = lambda scope: NoTurns()

    def fill(self, make: Make) -> None:
        self._make = make

    def runner_for(self, scope: TurnScope) -> TurnRunner:
        return self._make(scope)


turn_runners = TurnRunners()
