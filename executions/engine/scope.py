"""The scope that all runs of an execution share: its user, budget and ports."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import cached_property

from accounts.budgets import check_budget
from accounts.errors import OverBudget
from blocks.adapters.live import SystemClock, live_ports
from blocks.base import Leaves
from blocks.context import BlockContext
from blocks.errors import BudgetUsedUp, ParkedUntil
from blocks.ports import Ports
from boundary import taint
from durable.lease import Lease
from durable.stop_signal import StopSignal
from executions import limits
from executions.credentials.lookup import StoredCredentials
from executions.engine.dependencies import EngineDependencies
from executions.engine.large_values import LargeValues
from executions.engine.node_run import DriverInbox, NodeRun
from executions.engine.plan import Plan
from executions.engine.ports.files import WorkspaceFiles
from executions.engine.ports.model import RecordingModel
from executions.engine.ports.store import StoredValues, persist
from executions.engine.ports.sub_agents import SubAgents
from executions.engine.ports.tools import NodeToolbox
from executions.models import Execution
from executions.outside_content import content_sources
from executions.reviews.questions import PersonReviews, ReviewContext, expires_in
from executions.turn_runners import TurnScope, turn_runners


class ExecutionScope:
    """One attempt's view of its execution, shared by the threads of its runs; immutable."""

    def __init__(
        self,
        execution: Execution,
        plan: Plan,
        lease: Lease,
        inbox: DriverInbox,
        dependencies: EngineDependencies,
    ) -> None:
        self.execution = execution
        self.user = execution.user
        self.plan = plan
        self.lease = lease
        self.inbox = inbox
        self.model = dependencies.model
        self.http = dependencies.http
        self.large = LargeValues(execution.user)
        self.safe_mode = execution.safe_mode

    def check_budget(self) -> None:
        """Raise BudgetUsedUp if the user's budget is used up."""
        try:
            persist(lambda: check_budget(self.user))
        except OverBudget as error:
            raise BudgetUsedUp(error.message) from error

    def tainted_by(self, run: NodeRun, leaves: Leaves) -> taint.Sources:
        """Return what may have caused the run: the conversation it was started from; for a tool call of a model,
        also whatever that model may have read."""
        started_by = tuple(self.execution.outside_sources)
        return self.content_sources if run.caller_id is not None else started_by

    @cached_property
    def content_sources(self) -> taint.Sources:
        """Return the outside content that values of this execution may come from."""
        return content_sources(self.execution, (node.block for node in self.plan.nodes.values()))

    def context_of(self, run: NodeRun) -> BlockContext:
        key = str(run.id)
        return BlockContext(
            user_id=str(self.user.pk),
            agent_id=str(self.execution.agent_id),
            execution_id=str(self.execution.pk),
            node_id=run.node.id,
            node_execution_id=key,
            idempotency_key=key,
            cancel=run.stop,
            ports=LazyPorts(self, run),  # type: ignore[arg-type]  # has every port of Ports, each made at first use
            deadline=run.deadline,
            report_progress=run.report,
            meter=run.meter,
            timezone=self.user.time_zone,
            safe_mode=self.safe_mode,
            recorded_outputs=run.recorded,
        )


class LazyPorts:
    """The ports of one run, made at first use: most blocks only compute and need none."""

    def __init__(self, scope: ExecutionScope, run: NodeRun) -> None:
        self._scope = scope
        self._run = run

    def __getattr__(self, name: str) -> object:
        return getattr(self._ports, name)

    @cached_property
    def _ports(self) -> Ports:
        return make_ports(self._scope, self._run)


def make_ports(scope: ExecutionScope, run: NodeRun) -> Ports:
    execution = scope.execution
    store = StoredValues(
        user_id=execution.user_id,
        agent_id=str(execution.agent_id),
        execution_id=str(execution.pk),
        node_id=run.node.id,
        run_id=run.id,
    )
    asker = ReviewContext(
        user_id=execution.user_id,
        block_id=run.node.block.id,
        execution_id=execution.pk,
        node_execution_id=run.id,
        session_id=execution.session_id,
        expires_in=expires_in(run.node.node.metadata),
    )
    turn_scope = TurnScope(
        user_id=execution.user_id,
        execution_id=execution.pk,
        node_execution_id=run.id,
        session_id=execution.session_id,
        permissions=execution.permissions,
        outside_sources=scope.content_sources,
    )
    return live_ports(
        files=WorkspaceFiles(scope.user, scope.content_sources),
        store=store,
        credentials=StoredCredentials(execution.user_id),
        reviews=PersonReviews(asker),
        agents=SubAgents(run_at_work=run, parent=execution, impatient=lambda: scope.lease.draining),
        turns=turn_runners.runner_for(turn_scope),
        tools=NodeToolbox(plan=scope.plan, caller=run),
        clock=ParkingClock() if run.node.block.resumable else None,
        model=RecordingModel(scope.model, store, scope.check_budget),
        http=scope.http,
    )


class ParkingClock(SystemClock):
    """For blocks that can resume where they were."""

    def wait_until(self, moment: datetime, cancel: StopSignal) -> None:
        if moment - self.now() > timedelta(seconds=limits.INLINE_WAIT_SECONDS):
            raise ParkedUntil(moment)
        super().wait_until(moment, cancel)
