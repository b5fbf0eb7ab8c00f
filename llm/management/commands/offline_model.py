"""offline_model: serve the built-in offline model over HTTP."""

from __future__ import annotations

import asyncio
import signal
import socket
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser


class Command(BaseCommand):
    help = "Serve the built-in offline model: an OpenAI-compatible endpoint that needs no key."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="Address to listen on (127.0.0.1).")
        parser.add_argument("--port", type=int, default=8090, help="TCP port (8090; 0 takes a free one).")
        parser.add_argument("--fd", type=int, help="Take over this open socket instead of binding a port.")
        parser.add_argument(
            "--control", action="store_true", help="Offer /control/ to tests on this machine."
        )

    def handle(
        self, *args: Any, host: str, port: int, control: bool, fd: int | None = None, **options: Any
    ) -> None:
        held = socket.socket(fileno=fd) if fd is not None else None
        try:
            asyncio.run(self.serve(host, port, control, held))
        except OSError as error:
            raise CommandError(
                f"Cannot listen on {host}:{port}: {error.strerror}. Choose another --port."
            ) from None

    async def serve(self, host: str, port: int, control: bool, held: socket.socket | None) -> None:
        # Imported here because no other command needs aiohttp.
        from llm.offline.server import OfflineModel, start

        runner = await start(OfflineModel(control=control), host, port, held=held)
        address = runner.addresses[0]
        self.stdout.write(f"Offline model at http://{address[0]}:{address[1]}/v1")
        self.stdout.flush()
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop.set)
        await stop.wait()
        await runner.cleanup()
