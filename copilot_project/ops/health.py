"""The health endpoints: liveness of this process, and readiness of the system."""

from __future__ import annotations

from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from copilot_project.ops.checks import catalog


@require_safe
@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """Answer 200. Nothing else is checked, so that a slow database does not get the process restarted."""
    return JsonResponse({"status": "ok"})


@require_safe
@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    """Check the database, Redis and that a worker is alive; answer 503 if one of them fails."""
    found = [probe() for probe in catalog.READY]
    ready = all(check.ok for check in found)
    # The page is public, so it gives one word per part; `doctor` has the details.
    parts = {check.name: "ok" if check.ok else "failing" for check in found}
    return JsonResponse(
        {"status": "ok" if ready else "unavailable", "checks": parts}, status=200 if ready else 503
    )
