"""The offline model inside a test: a real HTTP server on a free port, in a thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

from aiohttp import web

from llm.offline.script import read_script
from llm.offline.server import OfflineModel, RequestRecord, start

T = TypeVar("T")


class OfflineServer:
    """`with OfflineServer() as server:` point OPENAI_BASE_URL at `server.url`, read `server.requests`."""

    def __init__(self, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self._host = host
        self._port = port
        self._model = OfflineModel(control=True)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="offline-model", daemon=True)
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        """The base URL, as OPENAI_BASE_URL wants it."""
        return f"{self.root}/v1"

    @property
    def root(self) -> str:
        return f"http://{self._host}:{self._port}"

    @property
    def requests(self) -> list[RequestRecord]:
        """Every chat completion request so far, oldest first."""
        return self._call(lambda: list(self._model.requests))

    def play(self, script: Mapping[str, Any], *, contains: str = "") -> None:
        """Answer turns whose newest message contains these words (any turn, by default) by this script."""
        parsed = read_script(script)
        self._call(lambda: self._model.play(parsed, contains=contains))

    def release(self, gate: str) -> None:
        """Let the answers that wait at this gate go on."""
        self._call(lambda: self._model.release(gate))

    def reset(self) -> None:
        """Forget scripts, gates, fault counters and the log."""
        self._call(self._model.reset)

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(10)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _start(self) -> None:
        self._runner = await start(self._model, self._host, self._port)
        self._port = self._runner.addresses[0][1]

    async def _stop(self) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    def _call(self, fn: Callable[[], T]) -> T:
        """Run on the server's thread, where all of the model's state lives."""

        async def on_loop() -> T:
            return fn()

        return asyncio.run_coroutine_threadsafe(on_loop(), self._loop).result(10)
