"""HTTP endpoints that stream turns: the exact stream for any client, the compact one for `useChat`."""

from __future__ import annotations

import uuid

from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from chat import turns
from chat.ai_sdk import requests
from chat.ai_sdk.errors import plain_words
from chat.api.serializers import AskForm
from chat.api.view import ChatView, future_owner
from chat.delivery import sse
from chat.models import Session
from chat.sessions import UUID_FORM
from durable.event_log import START, Position

STREAM = OpenApiResponse(
    OpenApiTypes.STR,
    description="AI SDK UI message stream v1 as server-sent events; each has an `id`, the end is `data: [DONE]`.",
)
STREAMED = {(200, "text/event-stream"): STREAM}
IDLE = {204: OpenApiResponse(description="No turn is running or queued.")}
AFTER = OpenApiParameter(
    "after", str, description="Id of an event: stream exactly what follows it. Same as Last-Event-ID."
)
LAST_EVENT_ID = OpenApiParameter(
    "Last-Event-ID", str, OpenApiParameter.HEADER, description="Takes precedence over `after`."
)


class TurnStream(ChatView):
    """One turn as server-sent events."""

    @extend_schema(summary="Stream a turn", parameters=[AFTER, LAST_EVENT_ID], responses=STREAMED)
    def get(self, request: Request, turn_id: uuid.UUID) -> HttpResponseBase:
        """Stream the turn from the start, or from what follows a given event. Works during and after the turn."""
        turn = self.turn(turn_id)
        return sse.respond_exact(turn.pk, position_in(request))


def position_in(request: Request) -> Position:
    text = request.headers.get("Last-Event-ID") or request.query_params.get("after") or ""
    try:
        return Position.parse(text) if text else START
    except ValueError as error:
        raise ValidationError({"after": [str(error)]}) from None


class UseChatView(ChatView):
    """An endpoint for `useChat`, whose clients show the body of an error as it is: errors are plain text."""

    def handle_exception(self, exc: Exception) -> Response:
        answer = super().handle_exception(exc)
        if not speaks_ai_sdk(self.request):
            return answer
        plain = HttpResponse(
            plain_words(answer.data), status=answer.status_code, content_type="text/plain; charset=utf-8"
        )
        for name in ("Retry-After", "WWW-Authenticate"):
            if name in answer:
                plain[name] = answer[name]
        return plain  # type: ignore[return-value]


def speaks_ai_sdk(request: Request) -> bool:
    """Return whether the client is an AI SDK transport, by its User-Agent or by the form of its body."""
    body = getattr(request, "_full_data", None)
    return "ai-sdk/" in request.headers.get("User-Agent", "") or (
        isinstance(body, dict) and "messages" in body
    )


class Chat(UseChatView):
    """The address a stock `DefaultChatTransport` posts to."""

    @extend_schema(summary="Send a message and stream the answer", request=AskForm, responses=STREAMED)
    def post(self, request: Request) -> HttpResponseBase:
        """Send a message (or `trigger: regenerate-message`) and stream its turn; creates the session if it is new."""
        submitted = requests.submit(future_owner(request), request.data)
        return sse.respond_compact(submitted.turn.pk, is_new=submitted.created)


class ChatResume(UseChatView):
    """The address a stock `DefaultChatTransport` resumes from."""

    @extend_schema(summary="Resume the stream of a chat", responses=STREAMED | IDLE)
    def get(self, request: Request, key: str) -> HttpResponseBase:
        """Resume the running turn: compact replay from `start`, then live. 204 when idle."""
        try:
            return resume(self.session(key))
        except Http404:
            if UUID_FORM.fullmatch(key):
                raise
            return HttpResponse(status=status.HTTP_204_NO_CONTENT)  # a chat that has not sent anything yet


class SessionStream(UseChatView):
    """The same for one session by its address."""

    @extend_schema(
        summary="Resume the stream of a session",
        operation_id="session_stream_resume",
        responses=STREAMED | IDLE,
    )
    def get(self, request: Request, key: str) -> HttpResponseBase:
        """Resume the running turn: compact replay from `start`, then live. 204 when idle."""
        return resume(self.session(key))

    @extend_schema(
        summary="Send a message to a session and stream the answer",
        request=AskForm,
        responses=STREAMED,
    )
    def post(self, request: Request, key: str) -> HttpResponseBase:
        """Send a message (or `trigger: regenerate-message`) and stream its turn."""
        submitted = requests.submit(self.owner, request.data, session=self.session(key))
        return sse.respond_compact(submitted.turn.pk, is_new=submitted.created)


def resume(session: Session) -> StreamingHttpResponse | HttpResponse:
    turn = turns.current_turn(session)
    return sse.respond_compact(turn.pk) if turn else HttpResponse(status=status.HTTP_204_NO_CONTENT)
