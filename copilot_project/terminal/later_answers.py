"""Find the answers of a session that come by themselves, when long work has ended."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

import httpx

from copilot_project import limits
from copilot_project.terminal import api
from copilot_project.terminal.api import ChatFailed


class LaterAnswers:
    """The turns of one session that were not started here. Each is found once."""

    def __init__(self, client: httpx.Client, session_id: str) -> None:
        self.client = client
        self.session_id = session_id
        self._known: set[str] = set()

    def note(self, turn_id: str) -> None:
        """Leave this turn out: it was asked for here, and is being shown."""
        self._known.add(turn_id)

    def skip_existing(self) -> None:
        """Leave out everything that has been said so far."""
        self._known |= set(api.turns_of(self.client, self.session_id))

    def find(self) -> str | None:
        """Return the id of the oldest turn that was not seen yet, or None."""
        for turn_id in api.turns_of(self.client, self.session_id):
            if turn_id not in self._known:
                self._known.add(turn_id)
                return turn_id
        return None

    def wait(self, stopped: threading.Event, seconds: float = math.inf) -> str | None:
        """Return the next one as soon as it comes, or None once `stopped` is set or the time is over.

        A lost connection is waited out.
        """
        deadline = time.monotonic() + seconds
        while not stopped.wait(limits.CHAT_LATER_SECONDS) and time.monotonic() < deadline:
            try:
                found = self.find()
            except ChatFailed:
                continue
            if found:
                return found
        return None


class Follower:
    """Shows later answers while the user has not typed the next message."""

    def __init__(self, later: LaterAnswers, show: Callable[[str], None]) -> None:
        self._later = later
        self._show = show
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="later-answers", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *error: object) -> None:
        """Stop looking; an answer that is being shown is shown to its end first."""
        self._stopped.set()
        self._thread.join()

    def _follow(self) -> None:
        while turn_id := self._later.wait(self._stopped):
            try:
                self._show(turn_id)
            except ChatFailed:
                continue
