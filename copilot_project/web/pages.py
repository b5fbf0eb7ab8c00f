"""The chat page, and responses to errors outside the views of the API: JSON under /api/, a plain page elsewhere."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template import loader
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe
from rest_framework import exceptions

from copilot_project.errors import as_api_exception, contents, envelope, headers_of

CSRF_MESSAGE = "The form has expired, or cookies are blocked."
CSRF_HINT = "Go back, reload the page and try again."
AS_DRF_WRITES = {"separators": (",", ":"), "ensure_ascii": False}  # so that the same error is the same bytes


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


WORKER_POLICY = "default-src 'none'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'"


@require_safe
def service_worker(request: HttpRequest) -> HttpResponse:
    """Serve the service worker at the root of the site, which makes the whole site its scope."""
    headers = {"Cache-Control": "no-cache", "Content-Security-Policy": WORKER_POLICY}
    path = Path(settings.UI_BUILD) / "sw.js"
    if not path.exists():
        raise Http404
    return HttpResponse(path.read_bytes(), content_type="text/javascript; charset=utf-8", headers=headers)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return answer(request, as_api_exception(exception))


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    return answer(request, exceptions.PermissionDenied())


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return answer(request, exceptions.NotFound())


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer the exception that is being handled; a database that is down is a 503."""
    return answer(request, as_api_exception(sys.exc_info()[1]))


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    error = exceptions.PermissionDenied(CSRF_MESSAGE, code="csrf_failed")
    error.hint = CSRF_HINT  # type: ignore[attr-defined]
    return answer(request, error)


def answer(request: HttpRequest, error: exceptions.APIException) -> HttpResponse:
    """Render the error for this client, without the database or the session, which may be the cause."""
    headers, status = headers_of(error), error.status_code
    if request.path_info.startswith("/api/"):
        return JsonResponse(envelope(error), status=status, headers=headers, json_dumps_params=AS_DRF_WRITES)
    context: dict[str, Any] = {"status": status, **contents(error)}
    return HttpResponse(loader.render_to_string("error.html", context), status=status, headers=headers)
