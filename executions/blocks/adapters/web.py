"""The guarded way to the web, as a port."""

from __future__ import annotations

from boundary.http import OutboundRequest, OutboundResponse, Outside, fetch


class GuardedWeb:
    """Every request is checked, pinned and capped by `boundary.http`."""

    def __init__(self, outside: Outside | None = None) -> None:
        self._outside = outside

    def fetch(self, request: OutboundRequest) -> OutboundResponse:
        return fetch(request, self._outside)
