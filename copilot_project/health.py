"""The health pages: is this process alive, and is the system ready to answer people."""

from __future__ import annotations

from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from copilot_project.checks import catalog


@require_safe
@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """This process answers. Nothing else is asked, so that a slow database does not get it restarted."""
    return JsonResponse({"status": "ok"})


@require_safe
@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    """Database, Redis and at least one worker; 503 with the list when one is missing."""
    found = [probe() for probe in catalog.READY]
    ready = all(check.ok for check in found)
    # Anyone may ask, so only a word per part: details are in `doctor`.
    parts = {check.name: "ok" if check.ok else "failing" for check in found}
    return JsonResponse(
        {"status": "ok" if ready else "unavailable", "checks": parts}, status=200 if ready else 503
    )
