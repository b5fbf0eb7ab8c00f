"""Prefixes of the `client_id` of turns that the system starts; each id is used once, which makes them idempotent."""

from __future__ import annotations

TASK = "task:"  # followed by an id made from the key of the call that started the task
TASK_CAME_BACK = "sub-session:"  # continuation after a task; followed by the id of its turn
REVIEW_DECIDED = "review:"  # continuation after a review; followed by its id
EXECUTION_CAME_BACK = "execution:"  # continuation after an execution; followed by its id
