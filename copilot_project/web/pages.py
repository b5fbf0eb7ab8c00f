"""The chat page: the built UI, or a plain page that says how to build it."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe


@require_safe
@ensure_csrf_cookie
def chat(request: HttpRequest, **place: str) -> HttpResponse:
    """Serve the single page of conversations, library and account; the page itself reads the address."""
    if not request.user.is_authenticated and not settings.COPILOT_ALLOW_ANONYMOUS:
        return redirect_to_login(request.get_full_path())
    index = Path(settings.UI_BUILD) / "index.html"
    if not index.exists():
        return render(request, "unbuilt.html")
    return HttpResponse(index.read_bytes())
