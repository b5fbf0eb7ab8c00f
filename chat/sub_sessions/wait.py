"""Wait for a task and report meanwhile what it is doing."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable
from typing import Any

from chat import limits, protocol
from chat.models import Turn
from chat.sub_sessions.outcome import TaskProgress, activity_of, progress_of, replayed
from durable import event_log, jobs
from durable.runtime import runtime
from durable.wait import WaitStop, wait_for
from tools import limits as tools_limits


def wait_for_task(turn_id: uuid.UUID, *, seconds: float, stop: WaitStop, tell: Callable[[str], None]) -> None:
    """Return when the task is over, the time is up, or `stop` was set. Holds no database connection meanwhile."""
    watch = _Watch(turn_id, tell)
    wait_for(turn_id, watch.check, seconds=seconds, stop=stop, matters=watch.activity.apply)


class _Watch:
    """The check that runs on every announcement that matters, and about every two seconds without one."""

    def __init__(self, turn_id: uuid.UUID, tell: Callable[[str], None]) -> None:
        self.activity = Activity()
        self._turn_id = turn_id
        self._tell = tell
        self._run_after = time.monotonic() + limits.EXTRA_THREAD_SECONDS

    def check(self) -> bool | None:
        progress = progress_of(self._turn_id)
        if progress.is_over:
            return True
        self._run_if_unclaimed(progress.live)
        self._tell(self._activity(progress))
        return None

    def _activity(self, progress: TaskProgress) -> str:
        """Return the last announced activity; before any was announced, what the rows and the log say."""
        live = progress.live
        if live is None or live.status == Turn.QUEUED or not self.activity.text:
            return activity_of(progress, replayed(live or progress.turns[-1]))
        return self.activity.text

    def _run_if_unclaimed(self, live: Turn | None) -> None:
        """Run the turn in this process if no worker has taken it: perhaps all of them wait, as this one does."""
        if live is not None and time.monotonic() >= self._run_after and jobs.left_by(Turn, live.pk):
            runtime().run_on_extra_thread(Turn, live.pk)


class Activity:
    """What a turn is doing, read from its announced events, in words that follow "The sub-session"."""

    def __init__(self) -> None:
        self.text = ""
        self._running: dict[str, str] = {}  # call id -> name of the tool

    def apply(self, payload: str | None) -> bool:
        """Apply an announcement; return True if it changed the activity or may have ended the turn."""
        before, ended = self.text, not payload
        for entry in event_log.parse_news(payload or ""):
            if not protocol.part_of(
                entry.body
            ):  # most events of a long answer are deltas, which change nothing
                ended = ended or protocol.is_end(entry.body)
                self._apply_chunk(json.loads(entry.body))
        return ended or self.text != before

    def _apply_chunk(self, chunk: dict[str, Any]) -> None:
        match chunk["type"]:
            case "start-step" | "reasoning-start" | "finish-step":
                self.text = "thinks"
            case "text-start":
                self.text = "writes its answer"
            case "tool-input-start":
                self.text = f"prepares {chunk['toolName']}"
            case "tool-input-available":
                self._running[chunk["toolCallId"]] = chunk["toolName"]
                self._show_tools()
            case "tool-output-available" if chunk.get("preliminary"):
                self._show_tools(chunk["toolCallId"], chunk["output"])
            case "tool-output-available" | "tool-output-error":
                self._running.pop(chunk["toolCallId"], None)
                self._show_tools()

    def _show_tools(self, call_id: str = "", output: Any = None) -> None:
        if call_id in self._running and isinstance(output, dict) and isinstance(output.get("message"), str):
            message = output["message"][: tools_limits.MAX_BRIEF_CHARACTERS].rstrip(".")
            self.text = f"uses {self._running[call_id]}: {message}"
        elif self._running:
            self.text = f"uses {', '.join(dict.fromkeys(self._running.values()))}"
        else:
            self.text = "thinks"
