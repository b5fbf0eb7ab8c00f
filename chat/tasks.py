"""Celery tasks of the chat; each names a row."""

from __future__ import annotations

import threading
import uuid
from functools import partial
from typing import Any

from celery import shared_task, signals

import llm
from chat import engine, titles
from chat.engine.precedence import starts
from chat.models import Turn
from durable.runtime import runtime
from tools import limits, registry

_warmed = threading.Event()  # turns wait for it: two threads must not import the same modules at once
_warmed.set()


@shared_task(name="chat.run_turn")
def run_turn(turn_id: str) -> None:
    """Run one turn. A duplicate delivery finds the lease held and returns."""
    _warmed.wait(limits.WARM_UP_SECONDS)
    with starts().starting() as starting:
        runtime().run(Turn, uuid.UUID(turn_id), partial(engine.run, asked=starting.done))


@shared_task(name="chat.make_title")
def make_title(session_id: str) -> None:
    """Give a session without a title one."""
    titles.make_title(uuid.UUID(session_id))


@signals.worker_ready.connect
def warm_up(**kwargs: Any) -> None:
    """Load the model client, the tools and the sandbox's self-test before the first turn comes."""

    def load() -> None:
        try:
            llm.warm_up()
            registry.prepare()
        finally:
            _warmed.set()

    _warmed.clear()
    threading.Thread(target=load, name="warm-up", daemon=True).start()
