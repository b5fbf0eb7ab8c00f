"""The thread pool that blocks run on: shared by all executions of a process, fair to their users.

Quick blocks share a few threads, because many threads that compute slow each other down; a block that may wait for
something outside gets its own thread at once. If a quick block turns out to be slow, the driver of a waiting run
calls `add_threads`.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter, deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from django.db import connections

from durable import limits as durable_limits
from durable.per_process import PerProcess
from executions import limits

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PoolTask:
    """A task of one user; `quick` if it only computes."""

    owner: Hashable
    work: Callable[[], None]
    quick: bool


class BlockThreads:
    """Runs the tasks of users in turn, each user with at most a share of the threads."""

    def __init__(
        self, most: int = durable_limits.NODE_THREADS, share: int = limits.NODE_THREADS_PER_USER
    ) -> None:
        self._most = most
        self._share = share
        self._lines: dict[Hashable, deque[PoolTask]] = {}  # in the order of the users' turns
        self._busy: Counter[Hashable] = Counter()
        self._idle = 0
        self._threads = 0
        self._waking = threading.Condition()

    def submit(self, tasks: Sequence[PoolTask]) -> None:
        """Queue tasks and return at once."""
        with self._waking:
            for task in tasks:
                self._lines.setdefault(task.owner, deque()).append(task)
            wanted = sum(not task.quick for task in tasks) or 1
            self._waking.notify(min(wanted, self._idle))
            self._start_threads(wanted - self._idle)

    def run_now(self, work: Callable[[], None]) -> None:
        """Run work that a thread of the pool waits for; if queued, it might wait for that very thread."""
        threading.Thread(target=self._serve_one, args=(work,), name="block", daemon=True).start()

    def add_threads(self) -> None:
        """Double the threads, as far as there is work for them: a task has waited for long."""
        with self._waking:
            waiting = sum(map(len, self._lines.values()))
            self._waking.notify(waiting)
            self._start_threads(min(waiting - self._idle, max(self._threads, 1)))

    def _start_threads(self, count: int) -> None:
        for _ in range(min(count, self._most - self._threads)):
            self._threads += 1
            try:
                threading.Thread(target=self._serve, name="block", daemon=True).start()
            except RuntimeError:  # the machine has no thread left; the existing ones continue
                self._threads -= 1
                logger.exception("No thread for a block")
                return

    def _serve(self) -> None:
        while (task := self._next()) is not None:
            try:
                task.work()
            except Exception:  # the thread's boundary: a task handles its own failures
                logger.exception("A task on a block thread failed; the thread continues")
            finally:
                self._done(task)

    def _serve_one(self, work: Callable[[], None]) -> None:
        try:
            work()
        finally:
            connections.close_all()

    def _next(self) -> PoolTask | None:
        """Return the next task; None after a while without one, for the thread to end."""
        with self._waking:
            while True:
                task = self._take()
                if task is not None:
                    self._busy[task.owner] += 1
                    return task
                self._idle += 1
                woken = self._waking.wait(limits.NODE_THREAD_IDLE_SECONDS)
                self._idle -= 1
                if not woken and not self._lines:
                    self._threads -= 1
                    return None

    def _take(self) -> PoolTask | None:
        for owner in tuple(self._lines):
            if self._busy[owner] >= self._share:
                continue
            line = self._lines.pop(owner)
            task = line.popleft()
            if line:
                self._lines[owner] = line  # to the end: the other users come first now
            return task
        return None

    def _done(self, task: PoolTask) -> None:
        connections.close_all()
        with self._waking:
            self._busy[task.owner] -= 1
            if not self._busy[task.owner]:
                del self._busy[task.owner]


block_threads = PerProcess(BlockThreads)
