"""Ask a web address whether it answers, without the weight of an HTTP library."""

from __future__ import annotations

import http.client
from urllib.parse import urlsplit


def answers(url: str, *, timeout: float, host: str = "") -> bool:
    """Whether a GET of `url` ends in time with a 2xx status; `host` is the name to ask for, when it differs."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout)
    try:
        connection.request("GET", parts.path or "/", headers={"Host": host} if host else {})
        return 200 <= connection.getresponse().status < 300
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
