"""The scope of a single block run: its user, and no graph."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from accounts.budgets import check_budget
from accounts.errors import OverBudget
from accounts.models import User
from blocks.adapters.live import live_ports
from blocks.base import Leaves
from blocks.context import BlockContext
from blocks.errors import BudgetUsedUp
from blocks.ports import JSON, CopilotAnswer, ModelPort, PortError, SubAgentRun, ToolOffer, TurnOrder
from boundary import taint
from durable.stop_signal import StopSignal
from executions.credentials.lookup import StoredCredentials
from executions.engine.node_run import DriverInbox, NodeRun
from executions.engine.ports.files import WorkspaceFiles
from executions.engine.ports.model import RecordingModel
from executions.engine.ports.store import StoredValues, persist
from executions.reviews.questions import PersonReviews, ReviewContext

ALONE = "This only works inside an agent."


class PlainValues:
    """Keep values as they are; the caller decides what to show of them."""

    def keep(self, value: JSON, *, key: str) -> JSON:
        return value

    def load(self, value: JSON) -> JSON:
        return value


class NoGraph:
    """The ports of sub-agents and tools, which need a graph."""

    def run(self, run: SubAgentRun, cancel: StopSignal) -> Iterator[tuple[str, JSON]]:
        raise PortError(ALONE)

    def offers(self) -> Sequence[ToolOffer]:
        return ()

    def call(self, offer: ToolOffer, arguments: Mapping[str, JSON], *, key: str, cancel: StopSignal) -> JSON:
        raise PortError(ALONE)


class NoTurnsInBlockRun:
    def run(self, order: TurnOrder, cancel: StopSignal) -> CopilotAnswer:
        raise PortError(ALONE)


class Circumstances(Protocol):
    """The part of SingleRun that says which conversation the block is run from."""

    @property
    def safe_mode(self) -> bool: ...

    @property
    def session_id(self) -> uuid.UUID | None: ...

    @property
    def outside_sources(self) -> taint.Sources: ...

    @property
    def known_addresses(self) -> bool: ...


class SingleScope:
    """Fills in `noderun.RunScope` for one block."""

    def __init__(self, user: User, model: ModelPort, around: Circumstances) -> None:
        self.user = user
        self.safe_mode = around.safe_mode
        self.inbox = DriverInbox()
        self.large = PlainValues()
        self._model = model
        self._around = around

    def check_budget(self) -> None:
        try:
            persist(lambda: check_budget(self.user))
        except OverBudget as error:
            raise BudgetUsedUp(error.message) from error

    def tainted_by(self, run: NodeRun, leaves: Leaves) -> taint.Sources:
        if leaves is Leaves.ADDRESS and self._around.known_addresses:
            return ()
        return self._around.outside_sources

    def store_of(self, run: NodeRun) -> StoredValues:
        return StoredValues(
            user_id=self.user.pk, agent_id="", execution_id="", node_id=run.node.id, run_id=run.id
        )

    def context_of(self, run: NodeRun) -> BlockContext:
        key = str(run.id)
        store = self.store_of(run)
        asker = ReviewContext(
            user_id=self.user.pk, block_id=run.node.block.id, session_id=self._around.session_id
        )
        graph = NoGraph()
        return BlockContext(
            user_id=str(self.user.pk),
            agent_id="",
            execution_id="",
            node_id=run.node.id,
            node_execution_id=key,
            idempotency_key=key,
            cancel=run.stop,
            ports=live_ports(
                files=WorkspaceFiles(self.user, self._file_sources(run)),
                store=store,
                credentials=StoredCredentials(self.user.pk),
                reviews=PersonReviews(asker),
                agents=graph,
                turns=NoTurnsInBlockRun(),
                tools=graph,
                model=RecordingModel(self._model, store, self.check_budget),
            ),
            deadline=run.deadline,
            report_progress=run.report,
            meter=run.meter,
            timezone=self.user.time_zone,
            from_chat=True,
            safe_mode=self.safe_mode,
            recorded_outputs=run.recorded,
        )

    def _file_sources(self, run: NodeRun) -> taint.Sources:
        """Return where the content of the files comes from that the block stores."""
        block = run.node.block
        return taint.merge(self._around.outside_sources, [block.name] if block.gives_outside_content else [])
