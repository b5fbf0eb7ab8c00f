"""Flower on a socket that the supervisor listens on: `python -m copilot_project.launcher.flower FD`."""

from __future__ import annotations

import socket
import sys
from typing import Any

import flower.app  # type: ignore[import-untyped]
from celery.bin.celery import celery


def main(descriptor: int) -> None:
    listener = socket.socket(fileno=descriptor)
    listener.setblocking(False)

    def bind_sockets(*args: Any, **options: Any) -> list[socket.socket]:
        return [listener]

    flower.app.bind_sockets = bind_sockets  # Flower offers no other way to give it a socket
    celery.main(["-A", "copilot_project.launcher.monitor", "flower"], prog_name="celery")


if __name__ == "__main__":
    main(int(sys.argv[1]))
