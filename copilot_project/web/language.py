"""The language of the pages that Django draws: as chosen in the chat, else as the browser asks for."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import translation
from django.utils.decorators import sync_and_async_middleware

from copilot_project.web.middleware import Handler, changing

MACHINES = ("/api/", "/v1/", "/mcp", "/static/")  # their texts are read by programs, and stay English


@sync_and_async_middleware
def speak(get_response: Handler) -> Handler:
    """Draw pages for people in their language; the API answers in English whatever a client sends."""
    return changing(get_response, before=begin, after=end)


def begin(request: HttpRequest) -> None:
    if request.path_info.startswith(MACHINES):
        translation.activate(settings.LANGUAGE_CODE)
    else:
        translation.activate(translation.get_language_from_request(request))


def end(request: HttpRequest, response: HttpResponseBase) -> None:
    response.setdefault("Content-Language", translation.get_language())
    translation.activate(settings.LANGUAGE_CODE)
