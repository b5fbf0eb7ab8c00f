"""Turns of the copilot for agents: fills in `executions.ports.TurnRunner`."""

from __future__ import annotations

import uuid

from rest_framework.exceptions import APIException

from accounts.models import User
from chat.models import Message, Session
from chat.owners import Owner
from chat.sub_sessions import starting
from chat.sub_sessions.outcome import course_of, report_on
from executions.blocks.errors import ParkedForJob
from executions.ports import PortError, TurnAnswer, TurnOrder
from executions.turn_runners import TurnScope
from llm.types import CancelSignal
from tools import registry
from tools.base import Effect
from tools.errors import BadPermissions
from tools.permissions import NameList, Permissions, narrow
from tools.sub_sessions import Report


class AgentTurns:
    """The turns one node of one execution asks for."""

    def __init__(self, scope: TurnScope) -> None:
        self._scope = scope

    def run(self, order: TurnOrder, cancel: CancelSignal) -> TurnAnswer:
        """Start the turn, or find it under its key; while it runs the node waits without a worker.

        When the turn ends the execution is woken and asks again; when the execution ends first, the turn stops.
        """
        turn_id = self._start(order)
        if not course_of(turn_id).is_over:
            raise ParkedForJob(turn_id)
        return answer_of(report_on(turn_id))

    def _start(self, order: TurnOrder) -> uuid.UUID:
        owner = Owner(user=User.objects.get(pk=self._scope.user_id))
        asking = self._scope.session_id
        parent = owner.sessions().filter(pk=asking).first() if asking else None
        task = starting.Order(
            key=order.key,
            owner=owner,
            prompt=order.prompt,
            system_context=order.system_context,
            parent=parent,
            permissions=self._permissions(order),
            outside_sources=self._scope.outside_sources,
            max_depth=order.max_depth,
            continues=order.session_id,
            may_continue=lambda session: not leads_to(session, parent),
            execution_id=self._scope.execution_id,
        )
        try:
            return starting.start(task).pk
        except starting.NoSuchSession:
            raise PortError(
                f"The session {order.session_id!r} is not yours, or is the one that runs this agent."
            ) from None
        except starting.TooDeep:
            raise PortError(
                "Copilots start copilots too deeply here. Do this part without AutoPilot."
            ) from None
        except APIException as refused:
            raise PortError(str(refused.detail)) from None

    def _permissions(self, order: TurnOrder) -> Permissions:
        try:
            allowed = narrow(
                Permissions.parse(dict(self._scope.permissions) or None),
                Permissions.parse(dict(order.permissions) or None),
            )
        except BadPermissions as error:
            raise PortError(str(error)) from None
        return narrow(allowed, only_looking()) if order.dry_run else allowed


def only_looking() -> Permissions:
    """The tools that leave nothing behind."""
    pure = frozenset(tool.name for tool in registry.current().all() if tool.effect is Effect.PURE)
    return Permissions(tools=NameList(allow=pure), blocks=NameList(allow=frozenset()))


def leads_to(session: Session, asking: Session | None) -> bool:
    """Whether a session is the one that asks, or the one it comes from: it would wait for itself."""
    return asking is not None and (asking.pk == session.pk or starting.descends_from(session, asking))


def answer_of(report: Report) -> TurnAnswer:
    cancelled = "The copilot's turn was cancelled." if report.status == "cancelled" else ""
    failed = (report.error or "The copilot's turn failed.") if report.status == "failed" else ""
    return TurnAnswer(
        session_id=str(report.handle.session_id),
        response=report.text,
        tool_calls=report.tool_calls,
        history=history_of(report.handle.session_id),
        prompt_tokens=report.usage["input_tokens"],
        completion_tokens=report.usage["output_tokens"],
        error=cancelled or failed,
    )


def history_of(session_id: uuid.UUID) -> str:
    """The conversation as lines of text."""
    rows = Message.objects.filter(session=session_id, turn__superseded_at=None).exclude(seq=None)
    return "\n".join(f"{role}: {text}" for role, text in rows.order_by("seq").values_list("role", "text"))
