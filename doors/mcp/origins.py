"""Where a request may come from: no browser page of another site, whatever name it has given our address."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest

from doors.mcp.errors import ForeignOrigin


def check(request: HttpRequest) -> None:
    """Raise ForeignOrigin unless the host is one of ours and the origin, if there is one, is that host too."""
    try:
        host = request.get_host()
    except DisallowedHost:
        raise ForeignOrigin("This address is not one of this site.") from None
    origin = request.headers.get("Origin")
    if origin is None or urlsplit(origin).netloc in (host, urlsplit(settings.SITE_URL).netloc):
        return
    raise ForeignOrigin
