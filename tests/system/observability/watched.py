"""The product with a collector of traces and errors beside it."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.harness import Stack, eventually, free_port
from tests.system.observability.collector import ENVELOPES, RAW, SPANS

Span = dict[str, Any]


class Collected:
    """What the collector has written down so far."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def spans(self) -> list[Span]:
        return [
            json.loads(line) for line in self.text(SPANS).splitlines(keepends=True) if line.endswith("\n")
        ]

    def trace_with(self, name: str, **attributes: Any) -> list[Span]:
        """All spans of the trace that has such a span; none when there is no such span yet."""
        wanted = {f"ratchet.{key}": value for key, value in attributes.items()}
        spans = self.spans()
        found = {span["trace"] for span in spans if span["name"] == name and has(span, wanted)}
        assert len(found) <= 1, found
        return [span for span in spans if span["trace"] in found]

    def text(self, name: str) -> str:
        path = self.folder / name
        return path.read_bytes().decode(errors="replace") if path.exists() else ""

    @property
    def raw(self) -> str:
        return self.text(RAW)

    @property
    def errors(self) -> str:
        return self.text(ENVELOPES)


def has(span: Span, wanted: Mapping[str, Any]) -> bool:
    return all(span["attributes"].get(key) == value for key, value in wanted.items())


@contextmanager
def watched_stack(
    home: Path, *, workers: int = 1, env: Mapping[str, str] | None = None, **options: Any
) -> Iterator[tuple[Stack, Collected]]:
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    watching = {"OTEL_EXPORTER_OTLP_ENDPOINT": address, "SENTRY_DSN": f"http://key@127.0.0.1:{port}/1"}
    stack = Stack(home, env=watching | dict(env or {}), **options)
    home.mkdir(parents=True)
    try:
        start_collector(stack, port)
        stack.start(workers=workers)
        yield stack, Collected(home)
    finally:
        stack.stop()


def start_collector(stack: Stack, port: int) -> None:
    stack.launch("collector", "-m", "tests.system.observability.collector", str(port), str(stack.home))

    def listens() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    eventually(listens, what="the collector")
