"""A `requests` session over guarded HTTP, for libraries that support nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import requests
from requests.adapters import BaseAdapter
from requests.structures import CaseInsensitiveDict

from blocks.ports import HttpPort
from boundary.http import OutboundRequest

NOT_SENT = frozenset({"connection", "content-length", "accept-encoding", "host"})


def guarded_session(http: HttpPort) -> requests.Session:
    """Return a session that sends everything through the port."""
    session = requests.Session()
    session.trust_env = False
    for scheme in ("http://", "https://"):
        session.mount(scheme, GuardedAdapter(http))
    return session


class GuardedAdapter(BaseAdapter):
    """Sends the requests of a session through the port."""

    def __init__(self, http: HttpPort) -> None:
        super().__init__()
        self._http = http

    def send(self, request: requests.PreparedRequest, *_: Any, **__: Any) -> requests.Response:
        body = request.body.encode() if isinstance(request.body, str) else request.body
        headers: Mapping[str, str] = request.headers
        answer = self._http.fetch(
            OutboundRequest(
                url=str(request.url),
                method=str(request.method),
                headers={name: str(value) for name, value in headers.items() if name.lower() not in NOT_SENT},
                body=body or None,
            )
        )
        response = requests.Response()
        response.status_code = answer.status
        response.url = answer.url
        response.headers = CaseInsensitiveDict(answer.headers)
        response._content = answer.body
        response.encoding = answer.charset or "utf-8"
        response.request = request
        return response

    def close(self) -> None:
        """Do nothing: no connection is kept open."""
