"""Views that fail in every way a view can, beside the site's own addresses."""

from __future__ import annotations

import queue
import threading
from typing import Any

from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.core.exceptions import ValidationError as DjangoValidationError
from django.db import DataError, InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import path
from rest_framework import exceptions
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.errors import OverBudget, TooManyAttempts
from accounts.models import User
from copilot_project import urls as site
from durable.errors import Refusal
from executions.errors import BadInputs, BlockRefused
from workspace.errors import FileMissing

SECRET = "canary-in-the-traceback"
FAILURES: dict[str, Exception] = {
    "not_found": exceptions.NotFound("session 7 of bob does not exist"),
    "file_missing": FileMissing("session 7 of bob does not exist"),
    "refused_unsaid": Refusal(),
    "bad_inputs": BadInputs({"a": "Give a number.", "b.c": "Give a text."}),
    "block_refused": BlockRefused(status=418, code="teapot", message="Short and stout.", hint="Pour."),
    "http404": Http404("no such thing"),
    "does_not_exist": User.DoesNotExist("user 7"),
    "denied": PermissionDenied(SECRET),
    "suspicious": SuspiciousOperation(SECRET),
    "throttled": exceptions.Throttled(wait=2.5),
    "attempts": TooManyAttempts(retry_after=61.2),
    "budget": OverBudget("Your budget for this day is used up."),
    "database_down": OperationalError(f"connection to {SECRET} refused"),
    "database_gone": InterfaceError(SECRET),
    "data": DataError(SECRET),
    "bug": KeyError(SECRET),
    "django_invalid": DjangoValidationError("Not like that."),
    "invalid_list": exceptions.ValidationError(["Not like this.", "Nor like that."]),
    "invalid_nested": exceptions.ValidationError(
        {
            "non_field_errors": ["Dates are the wrong way round."],
            "title": ["Too long."],
            "permissions": {"tools": {"allow": [{}, ["Unknown tool."]]}},
        }
    ),
}


class Fail(APIView):
    permission_classes = [AllowAny]

    def get(self, request: Request, name: str) -> Response:
        raise FAILURES[name]


class Echo(APIView):
    permission_classes = [AllowAny]

    def post(self, request: Request) -> Response:
        return Response({"data": request.data})


def fail_plainly(request: HttpRequest, name: str) -> HttpResponse:
    raise FAILURES[name]


def plain_post(request: HttpRequest) -> HttpResponse:
    return HttpResponse(len(request.body))


release = threading.Event()  # ends the requests for `slow` and `late-body`
bodies: queue.SimpleQueue[bytes] = queue.SimpleQueue()  # what `late-body` has read


def thread_name(request: HttpRequest) -> HttpResponse:
    return HttpResponse(threading.current_thread().name)


async def thread_name_async(request: HttpRequest) -> HttpResponse:
    return HttpResponse(threading.current_thread().name)


def slow(request: HttpRequest) -> HttpResponse:
    release.wait(60)
    return HttpResponse("late")


def late_body(request: HttpRequest) -> HttpResponse:
    release.wait(60)
    bodies.put(request.body)
    return HttpResponse("late")


urlpatterns: list[Any] = [
    path("thread-name", thread_name),
    path("thread-name-async", thread_name_async),
    path("slow", slow),
    path("late-body", late_body),
    path("api/fail/<str:name>", Fail.as_view()),
    path("api/plain/<str:name>", fail_plainly),
    path("page/<str:name>", fail_plainly),
    path("api/echo", Echo.as_view()),
    path("api/plain-post", plain_post),
    *site.urlpatterns,
]
handler400, handler403 = site.handler400, site.handler403
handler404, handler500 = site.handler404, site.handler500
