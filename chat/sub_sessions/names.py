"""How the turns of sub-sessions are called by their `client_id`, so that each comes about once."""

from __future__ import annotations

TASK = "task:"  # a task, by the key of the call that handed it over
TASK_CAME_BACK = "sub-session:"  # the turn in which a task comes back, by the task's turn
REVIEW_DECIDED = "review:"  # the turn in which a sub-session goes on after a person decided
EXECUTION_CAME_BACK = "execution:"  # the turn in which an execution comes back
