"""Where tool calls of a turn are written down: fenced by the turn's lease, told to its readers."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from chat import waits
from chat.events import ExecutionNews, ToolOutput
from chat.models import Turn
from chat.protocol import Framed
from chat.replay import result_events
from durable.lease import Lease
from tools.context import WatchedExecution
from tools.dispatch import FinishedCall

T = TypeVar("T")


class TurnJournal:
    """Fills in `tools.dispatch.Journal`. `told` are the calls whose results readers have from an earlier attempt."""

    def __init__(self, lease: Lease, told: frozenset[str], touch: Callable[[], None]) -> None:
        self._lease = lease
        self._told = told
        self._touch = touch

    def commit(self, work: Callable[[], T], *, finished: FinishedCall | None = None) -> T:
        if finished is None or finished.call_id in self._told:
            return self._lease.commit(work)
        told = result_events(finished.call_id, finished.output, finished.error_text or "")
        return self._lease.commit(work, events=[Framed(event) for event in told], crashes=0)

    def progress(self, call_id: str, name: str, output: dict[str, Any]) -> None:
        self._touch()
        self._lease.emitter.hint(Framed(ToolOutput(call_id, output, preliminary=True)))

    def watched(self, execution: WatchedExecution) -> None:
        self._touch()
        news = ExecutionNews(execution.id, execution.status, execution.nodes)
        self._lease.emitter.hint(Framed(news))

    def waiting(self, key: str, job_id: uuid.UUID | None) -> AbstractContextManager[None]:
        turn = Turn.objects.select_related("session").get(pk=self._lease.job_id)
        return waits.waiting(turn, self._lease, key=key, job_id=job_id)
