"""Celery tasks of the chat; each names a row."""

from __future__ import annotations

import threading
import uuid
from typing import Any

from celery import shared_task, signals

import llm
from chat import engine, titles
from chat.models import Turn
from durable.runtime import runtime
from tools import limits, registry

_warmed = threading.Event()  # turns wait for it: two threads must not import the same modules at once
_warmed.set()
_wanted = threading.Event()  # a turn has come


@shared_task(name="chat.run_turn")
def run_turn(turn_id: str) -> None:
    """Run one turn. A duplicate delivery finds the lease held and returns."""
    _wanted.set()
    _warmed.wait(limits.LOAD_SECONDS)
    runtime().run(Turn, uuid.UUID(turn_id), engine.run)


@shared_task(name="chat.make_title")
def make_title(session_id: str) -> None:
    """Give a session without a title one."""
    titles.make_title(uuid.UUID(session_id))


@signals.celeryd_after_setup.connect
def hold_turns(**kwargs: Any) -> None:
    """Let turns wait before the first one can come: the sweep starts while `worker_ready` is still being sent."""
    _warmed.clear()


@signals.worker_ready.connect
def warm_up(sender: Any = None, **kwargs: Any) -> None:
    """Load the model client, the tools and the sandbox's self-test before the first turn comes.

    It begins a moment later, when the processes that start beside this one no longer need the processor. Workers
    that run no turns load them at their first use.
    """
    if sender is not None and Turn.queue not in sender.app.amqp.queues.consume_from:
        _warmed.set()
        return

    def load() -> None:
        try:
            _wanted.wait(limits.WARM_UP_DELAY_SECONDS)
            llm.warm_up()
            registry.prepare()
        finally:
            _warmed.set()

    _warmed.clear()
    threading.Thread(target=load, name="warm-up", daemon=True).start()
