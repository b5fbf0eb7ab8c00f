"""The streams of turns: exact ones for any client, compact ones for the AI SDK's."""

from __future__ import annotations

import uuid
from typing import Any

from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from chat.api import asks
from chat.api.view import ChatView, future_owner
from chat.api.words import plain_words
from chat.delivery import sse
from chat.models import Session, Turn
from chat.sessions import UUID_FORM
from durable.events import START, Position

STREAM = OpenApiResponse(
    OpenApiTypes.STR,
    description="AI SDK UI message stream v1 as server-sent events; each has an `id`, the end is `data: [DONE]`.",
)
STREAMED = {(200, "text/event-stream"): STREAM}
IDLE = {204: OpenApiResponse(description="No turn is running or queued.")}
AFTER = OpenApiParameter(
    "after", str, description="Id of an event: exactly what follows it. As Last-Event-ID."
)
LAST_EVENT_ID = OpenApiParameter(
    "Last-Event-ID", str, OpenApiParameter.HEADER, description="Wins over `after`."
)


class TurnStream(ChatView):
    """The exact stream of one turn."""

    @extend_schema(parameters=[AFTER, LAST_EVENT_ID], responses=STREAMED)
    def get(self, request: Request, turn_id: uuid.UUID) -> HttpResponseBase:
        """Events from the start, or from a given one on: while it runs, after its end, after Redis lost everything."""
        turn = self.turn(turn_id)
        return sse.respond_exact(turn.pk, place_in(request))


def place_in(request: Request) -> Position:
    text = request.headers.get("Last-Event-ID") or request.query_params.get("after") or ""
    try:
        return Position.parse(text) if text else START
    except ValueError as error:
        raise ValidationError({"after": [str(error)]}) from None


class AskView(ChatView):
    """An endpoint for `useChat`. Its clients show an error's body as it is, so they get plain words."""

    def handle_exception(self, exc: Exception) -> Response:
        answer = super().handle_exception(exc)
        if not speaks_ai_sdk(self.request):
            return answer
        words = HttpResponse(
            plain_words(answer.data), status=answer.status_code, content_type="text/plain; charset=utf-8"
        )
        for name in ("Retry-After", "WWW-Authenticate"):
            if name in answer:
                words[name] = answer[name]
        return words  # type: ignore[return-value]


def speaks_ai_sdk(request: Request) -> bool:
    """By its name, or by its kind of body where that could be read."""
    body = getattr(request, "_full_data", None)
    return "ai-sdk/" in request.headers.get("User-Agent", "") or (
        isinstance(body, dict) and "messages" in body
    )


class Chat(AskView):
    """Where a stock `DefaultChatTransport` posts."""

    @extend_schema(request=asks.AskForm, responses=STREAMED)
    def post(self, request: Request) -> HttpResponseBase:
        """Send a message (or `trigger: regenerate-message`) and read its turn; the session is made when new."""
        submitted = asks.submit(future_owner(request), request.data)
        return sse.respond_compact(submitted.turn.pk)


class ChatResume(AskView):
    """Where a stock `DefaultChatTransport` resumes."""

    @extend_schema(responses=STREAMED | IDLE)
    def get(self, request: Request, key: str) -> HttpResponseBase:
        """Resume the running turn: compact replay from `start`, then live. 204 when idle."""
        try:
            return resumed(self.session(key))
        except Http404:
            if UUID_FORM.fullmatch(key):
                raise
            return HttpResponse(status=status.HTTP_204_NO_CONTENT)  # a chat that has not sent anything yet


class SessionStream(AskView):
    """The same two for one session by its address."""

    @extend_schema(operation_id="session_stream_resume", responses=STREAMED | IDLE)
    def get(self, request: Request, key: str) -> HttpResponseBase:
        """Resume the running turn: compact replay from `start`, then live. 204 when idle."""
        return resumed(self.session(key))

    @extend_schema(request=asks.AskForm, responses=STREAMED)
    def post(self, request: Request, key: str) -> HttpResponseBase:
        """Send a message (or `trigger: regenerate-message`) and read its turn."""
        submitted = asks.submit(self.owner, request.data, session=self.session(key))
        return sse.respond_compact(submitted.turn.pk)


def resumed(session: Session) -> StreamingHttpResponse | HttpResponse:
    turn = current_turn(session)
    return sse.respond_compact(turn.pk) if turn else HttpResponse(status=status.HTTP_204_NO_CONTENT)


def current_turn(session: Session) -> Turn | None:
    """The running turn, else the one that will run next."""
    live: Any = session.turns.filter(status__in=Turn.LIVE).order_by("-priority", "queued_at", "id")
    found: Turn | None = live.filter(status__in=Turn.ACTIVE).first() or live.first()
    return found
