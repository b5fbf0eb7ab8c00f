"""Ask whether a URL answers, without loading an HTTP library."""

from __future__ import annotations

import http.client
from urllib.parse import urlsplit


def answers(url: str, *, timeout: float, host: str = "") -> bool:
    """Return whether a GET of `url` gets a 2xx status in time; `host` overrides the Host header."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout)
    try:
        connection.request("GET", parts.path or "/", headers={"Host": host} if host else {})
        return 200 <= connection.getresponse().status < 300
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
