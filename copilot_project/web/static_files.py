"""Serve static files from the web process, without holding a thread per request."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction, sync_to_async
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from whitenoise.middleware import WhiteNoiseMiddleware  # type: ignore[import-untyped]


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc]
    """An asynchronous WhiteNoise; the original is synchronous, so every request would hold a thread."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Any) -> None:
        super().__init__(get_response)
        self._is_async = iscoroutinefunction(get_response)
        if self._is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:
        return self._serve(request) if self._is_async else super().__call__(request)

    async def _serve(self, request: HttpRequest) -> HttpResponseBase:
        static_file = await self._find(request.path_info)
        if static_file is not None:
            served: HttpResponseBase = await sync_to_async(self.serve)(static_file, request)
            return served
        answer: Awaitable[HttpResponseBase] = self.get_response(request)
        return await answer

    async def _find(self, path: str) -> Any:
        """Search the disk in development, and the table of known files in production."""
        if not self.autorefresh:
            return self.files.get(path)
        return await sync_to_async(self.find_file)(path) if path.startswith(self.static_prefix) else None
