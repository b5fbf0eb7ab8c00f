"""A Celery worker of several queues for `./copilot up`, with beat and the consumer of completions beside it if wanted.

It starts the worker without the `celery` command, whose console and plug-ins (Flower among them) every process would
keep in memory. Where each role has a process of its own, `celery -A copilot_project worker` does the same.
"""

from __future__ import annotations

import argparse
import logging
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

from celery import beat, signals
from celery.utils.log import mlevel
from celery.utils.nodenames import default_nodename, host_format

from copilot_project import limits
from copilot_project.celery import app
from durable import liveness
from durable.database import use_own_connection
from durable.runtime import runtime
from tools.operations import completion_stream

logger = logging.getLogger(__name__)
Part = Callable[[threading.Event], object]


def main(words: Sequence[str]) -> int:
    """Run the worker until it is asked to stop; return its exit code."""
    options = parse(words)
    limits_by_queue = dict(options.queue)
    if len(limits_by_queue) > 1:
        runtime().queue_limits = limits_by_queue  # together they are as many as there are threads
    if options.part:
        run_beside_worker(options.part)
    worker: Any = app.Worker(
        hostname=host_format(default_nodename(f"{options.name}@%h")),
        pool_cls="threads",
        concurrency=sum(limits_by_queue.values()),
        queues=list(limits_by_queue),
        loglevel=mlevel(options.loglevel),
        without_gossip=True,
        without_mingle=True,
        heartbeat_interval=limits.EVENT_HEARTBEAT_SECONDS,
    )
    worker.start()
    return int(worker.exitcode or 0)


def parse(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="copilot_project.worker")
    parser.add_argument("name")
    parser.add_argument(
        "--queue", action="append", required=True, type=queue_limit, help="QUEUE=JOBS it runs at once"
    )
    parser.add_argument(
        "--part", action="append", choices=list(PARTS), default=[], help="what runs beside it"
    )
    parser.add_argument("--loglevel", default="INFO")
    return parser.parse_args(words)


def queue_limit(text: str) -> tuple[str, int]:
    name, _, count = text.partition("=")
    return name, int(count)


# --- what runs beside it ------------------------------------------------------------------------


def run_beside_worker(names: Sequence[str]) -> None:
    """Run parts on threads from when the worker is ready until it is asked to stop."""
    stop = threading.Event()
    liveness.parts().are_joined = True

    def start(**kwargs: Any) -> None:
        for name in names:
            threading.Thread(
                target=keep_running, args=(name, PARTS[name], stop), name=name, daemon=True
            ).start()

    signals.worker_ready.connect(start, weak=False)
    signals.worker_shutting_down.connect(lambda **kwargs: stop.set(), weak=False)


def keep_running(name: str, part: Part, stop: threading.Event) -> None:
    """Run a part, and start it again if it fails: its process goes on."""
    use_own_connection()
    while not stop.is_set():
        try:
            part(stop)
        except Exception:  # the outermost loop of its thread must not end silently
            logger.exception("%s failed and starts again", name)
            stop.wait(limits.PART_RESTART_SECONDS)


def run_beat(stop: threading.Event) -> None:
    """Send due tasks, as `celery beat` does."""
    scheduler: Any = beat.Service(app=app, scheduler_cls=app.conf.beat_scheduler).scheduler
    try:
        while not stop.wait(max(scheduler.tick(), 0.0)):
            if scheduler.should_sync():
                scheduler.sync()
    finally:
        scheduler.close()


def consume_completions(stop: threading.Event) -> None:
    """Read the results of external services from their stream."""
    completion_stream.consumer().run(stop)


PARTS: dict[str, Part] = {"beat": run_beat, "completions": consume_completions}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
