"""Waiting for a task, and telling meanwhile what it does."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable

from chat.models import Turn
from chat.sub_sessions.activity import Activity
from chat.sub_sessions.outcome import Course, course_of, doing, told_of
from durable import jobs, limits
from durable.runtime import runtime
from durable.waiting import Stop, wait_for


def wait_for_task(turn_id: uuid.UUID, *, seconds: float, stop: Stop, tell: Callable[[str], None]) -> None:
    """Return when the task is over, the time is, or `stop` was set. No database connection is held meanwhile."""
    watch = _Watch(turn_id, tell)
    wait_for(turn_id, watch.look, seconds=seconds, stop=stop, matters=watch.activity.hear)


class _Watch:
    """What is looked at each time there may be news, and about every two seconds without any."""

    def __init__(self, turn_id: uuid.UUID, tell: Callable[[str], None]) -> None:
        self.activity = Activity()
        self._turn_id = turn_id
        self._tell = tell
        self._lend_at = time.monotonic() + limits.LEND_PLACE_SECONDS

    def look(self) -> bool | None:
        course = course_of(self._turn_id)
        if course.is_over:
            return True
        self._lend_place(course.live)
        self._tell(self._doing(course))
        return None

    def _doing(self, course: Course) -> str:
        """What was heard; before anything was, what the rows and the log say."""
        live = course.live
        if live is None or live.status == Turn.QUEUED or not self.activity.doing:
            return doing(course, told_of(live or course.turns[-1]))
        return self.activity.doing

    def _lend_place(self, live: Turn | None) -> None:
        """No worker took it for a while, at first or after its own died: perhaps all wait, as this one does."""
        if live is not None and time.monotonic() >= self._lend_at and jobs.left_by(Turn, live.pk):
            runtime().lend_place(Turn, live.pk)
