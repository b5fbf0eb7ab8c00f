"""Turns of the copilot for agents: the implementation of `blocks.ports.TurnRunner`."""

from __future__ import annotations

import uuid

from accounts.models import User
from blocks.errors import ParkedForJob
from blocks.ports import CopilotAnswer, PortError, TurnOrder
from chat.models import Message, Session
from chat.sessions import Owner
from chat.sub_sessions import delegate
from chat.sub_sessions.outcome import progress_of, report_on
from durable.errors import Refusal
from durable.stop_signal import StopSignal
from executions.turn_runners import TurnScope
from tools import registry
from tools.base import Effect
from tools.errors import BadPermissions
from tools.permissions import NameList, Permissions, narrow
from tools.sub_sessions import TaskReport


class AgentTurns:
    """The turns one node of one execution asks for."""

    def __init__(self, scope: TurnScope) -> None:
        self._scope = scope

    def run(self, order: TurnOrder, cancel: StopSignal) -> CopilotAnswer:
        """Return the answer of the turn; raise ParkedForJob while it runs, so that the node waits without a worker.

        The end of the turn wakes the execution, which calls this again. If the execution ends first, the turn stops.
        """
        turn_id = self._start(order)
        if not progress_of(turn_id).is_over:
            raise ParkedForJob(turn_id)
        return answer_of(report_on(turn_id))

    def _start(self, order: TurnOrder) -> uuid.UUID:
        owner = Owner(user=User.objects.get(pk=self._scope.user_id))
        asking = self._scope.session_id
        parent = owner.sessions().filter(pk=asking).first() if asking else None
        task = delegate.TaskRequest(
            key=order.key,
            owner=owner,
            prompt=order.prompt,
            system_context=order.system_context,
            parent=parent,
            permissions=self._permissions(order),
            outside_sources=self._scope.outside_sources,
            max_depth=order.max_depth,
            continues=order.session_id,
            may_continue=lambda session: not would_wait_for_itself(session, parent),
            execution_id=self._scope.execution_id,
        )
        try:
            return delegate.start(task).pk
        except delegate.NoSuchSession:
            raise PortError(
                f"The session {order.session_id!r} is not yours, or is the one that runs this agent."
            ) from None
        except delegate.SubSessionTooDeep:
            raise PortError(
                "AutoPilot blocks are nested too deeply here. Do this part without one."
            ) from None
        except Refusal as refused:
            raise PortError(refused.message) from None

    def _permissions(self, order: TurnOrder) -> Permissions:
        try:
            allowed = narrow(
                Permissions.parse(dict(self._scope.permissions) or None),
                Permissions.parse(dict(order.permissions) or None),
            )
        except BadPermissions as error:
            raise PortError(str(error)) from None
        return narrow(allowed, read_only()) if order.dry_run else allowed


def read_only() -> Permissions:
    """Permit only tools without side effects."""
    pure = frozenset(tool.name for tool in registry.current().all() if tool.effect is Effect.PURE)
    return Permissions(tools=NameList(allow=pure), blocks=NameList(allow=frozenset()))


def would_wait_for_itself(session: Session, asking: Session | None) -> bool:
    """Return whether the session is the one that asks, or one of its ancestors."""
    return asking is not None and (asking.pk == session.pk or delegate.descends_from(session, asking))


def answer_of(report: TaskReport) -> CopilotAnswer:
    cancelled = "The copilot's turn was cancelled." if report.status == "cancelled" else ""
    failed = (report.error or "The copilot's turn failed.") if report.status == "failed" else ""
    return CopilotAnswer(
        session_id=str(report.handle.session_id),
        response=report.text,
        tool_calls=report.tool_calls,
        history=history_of(report.handle.session_id),
        prompt_tokens=report.usage["input_tokens"],
        completion_tokens=report.usage["output_tokens"],
        error=cancelled or failed,
    )


def history_of(session_id: uuid.UUID) -> str:
    """Return the conversation as lines of text."""
    rows = Message.objects.filter(Message.is_in_history(), session=session_id)
    return "\n".join(f"{role}: {text}" for role, text in rows.order_by("seq").values_list("role", "text"))
