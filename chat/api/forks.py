"""/api/sessions/{id}/fork: go on from a message in a new conversation."""

from __future__ import annotations

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from chat import forks
from chat.api.serializers import ForkShape, InputShape, NewFork, read, show
from chat.api.sessions import shape
from chat.api.view import ChatView
from chat.models import Message


class ForkSession(ChatView):
    """Fork a conversation."""

    @extend_schema(summary="Fork a session", request=NewFork, responses={201: ForkShape, 200: ForkShape})
    def post(self, request: Request, key: str) -> Response:
        """Copy the conversation up to this answer, or before this message of the person, into a new session.

        Nothing is run or charged again. Work that still goes on stays with the conversation it was started in.
        """
        session, given = self.session(key), read(NewFork, request.data)
        shown = session.messages.filter(Message.is_in_history(), steered_step=None)
        message = shown.filter(pk=given["message_id"]).first()
        if message is None:
            raise Http404
        forked = forks.fork(session, message, session_id=given.get("id"))
        draft = show(InputShape, forked.draft) if forked.draft else None
        code = status.HTTP_201_CREATED if forked.created else status.HTTP_200_OK
        return Response(shape(forked.session) | {"draft": draft}, status=code)
