"""What a block that is run by itself has around it: its user, and no graph."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from accounts.ledger import OverBudget, check_budget
from accounts.models import User
from boundary import taint
from executions.blocks.adapters.live import live_ports
from executions.blocks.base import Leaves
from executions.blocks.context import BlockContext
from executions.blocks.errors import BudgetUsedUp
from executions.credentials.finding import StoredCredentials
from executions.engine.noderun import Inbox, NodeRun
from executions.engine.ports.database import persist
from executions.engine.ports.files import WorkspaceFiles
from executions.engine.ports.model import RecordingModel
from executions.engine.ports.store import StoredValues
from executions.ports import (
    JSON,
    ModelPort,
    PortError,
    SubAgentRun,
    ToolOffer,
    TurnAnswer,
    TurnOrder,
)
from executions.reviews.asking import Asker, PersonReviews
from llm.types import CancelSignal

ALONE = "This only works inside an agent."


class PlainValues:
    """Values stay as they are: whoever asked for the run decides what to show of them."""

    def keep(self, value: JSON, *, key: str) -> JSON:
        return value

    def load(self, value: JSON) -> JSON:
        return value


class NoGraph:
    """Sub-agents, tools and turns: none without a graph."""

    def run(self, run: SubAgentRun, cancel: CancelSignal) -> Iterator[tuple[str, JSON]]:
        raise PortError(ALONE)

    def offers(self) -> Sequence[ToolOffer]:
        return ()

    def call(
        self, offer: ToolOffer, arguments: Mapping[str, JSON], *, key: str, cancel: CancelSignal
    ) -> JSON:
        raise PortError(ALONE)


class NoTurns:
    def run(self, order: TurnOrder, cancel: CancelSignal) -> TurnAnswer:
        raise PortError(ALONE)


class Circumstances(Protocol):
    """What `single.SingleRun` says of the conversation a block is run from."""

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
        self.inbox = Inbox()
        self.large = PlainValues()
        self._model = model
        self._around = around

    def check_budget(self) -> None:
        try:
            persist(lambda: check_budget(self.user))
        except OverBudget as error:
            raise BudgetUsedUp(str(error.detail)) from error

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
        asker = Asker(user_id=self.user.pk, block_id=run.node.block.id, session_id=self._around.session_id)
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
                turns=NoTurns(),
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
        """Where the content of files comes from that the block keeps."""
        block = run.node.block
        return taint.merge(self._around.outside_sources, [block.name] if block.gives_outside_content else [])
