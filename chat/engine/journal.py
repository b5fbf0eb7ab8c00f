"""Commits of a turn's tool calls: fenced by its lease, announced to its readers."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, TypeVar

from chat import waits
from chat.events import ExecutionUpdate, ToolOutput
from chat.models import Turn
from chat.outside_content import mark
from chat.protocol import Framed
from chat.replay import result_events
from durable.lease import Lease
from tools.context import WatchedExecution
from tools.dispatch import FinishedCall

T = TypeVar("T")


class TurnJournal:
    """Implements `tools.dispatch.Journal`. `announced` are calls whose results readers have from earlier attempts."""

    def __init__(self, lease: Lease, announced: frozenset[str], touch: Callable[[], None]) -> None:
        self._lease = lease
        self._announced = announced
        self._touch = touch

    def commit(self, work: Callable[[], T], *, finished: FinishedCall | None = None) -> T:
        if finished is None or finished.call_id in self._announced:
            return self._lease.commit(work)
        results = result_events(finished.call_id, finished.output, finished.error_text or "")
        events = [Framed(event) for event in results]
        if not finished.sources:
            return self._lease.commit(work, events=events, crashes=0)
        marking = partial(self._mark_and_run, finished.sources, work)
        return self._lease.commit(marking, events=events, lock_before=True, crashes=0)

    def _mark_and_run(self, sources: Sequence[str], work: Callable[[], T]) -> T:
        """Mark the session in the same transaction: the model reads outside content from now on."""
        turn = self._lease.job
        assert isinstance(turn, Turn)
        turn.session.outside_sources = list(mark(turn.session_id, sources, turn_id=turn.pk))
        return work()

    def progress(self, call_id: str, name: str, output: dict[str, Any]) -> None:
        self._touch()
        self._lease.emitter.hint(Framed(ToolOutput(call_id, output, preliminary=True)))

    def watched(self, execution: WatchedExecution) -> None:
        self._touch()
        update = ExecutionUpdate(execution.id, execution.status, execution.nodes)
        self._lease.emitter.hint(Framed(update))

    def waiting(self, key: str, job_id: uuid.UUID | None) -> AbstractContextManager[None]:
        turn = Turn.objects.select_related("session").get(pk=self._lease.job_id)
        return waits.waiting(turn, self._lease, key=key, job_id=job_id)
