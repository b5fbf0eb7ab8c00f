"""consume_completions: read completions of operations from the Redis stream until stopped."""

from __future__ import annotations

import signal
import threading
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from durable import limits
from tools.operations import completion_stream


class Command(BaseCommand):
    help = "Read the completion stream until stopped. Any number of consumers may run at once."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--claim-idle",
            type=float,
            default=limits.CONSUMER_CLAIM_SECONDS,
            help="Take over entries that another consumer has held for this many seconds.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        completion_stream.consumer(claim_idle_seconds=options["claim_idle"]).run(stop)
