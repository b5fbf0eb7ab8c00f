"""/api/turns: send a message, read its turn, change it while it is queued, cancel it."""

from __future__ import annotations

import uuid

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from chat import branches, turns
from chat.api.messages import ui_messages
from chat.api.serializers import (
    Cancelled,
    MessageShape,
    NewTurn,
    TurnAnswer,
    TurnChange,
    TurnShape,
    read,
    read_input,
    show,
)
from chat.api.sessions import cancel_shape
from chat.api.view import ChatView
from chat.models import Message
from durable.cancellation import CancelAnswer
from tools.dispatch import cancel_call
from tools.models import calls_of


class SessionTurns(ChatView):
    """The turns of a session."""

    @extend_schema(summary="Send a message", request=NewTurn, responses={202: TurnAnswer, 200: TurnAnswer})
    def post(self, request: Request, key: str) -> Response:
        """Send a message: 202 once it is committed, 200 if this `client_id` was sent before."""
        session = self.session(key)
        submitted = turns.submit(session, read_input(self.owner, request.data))
        code = status.HTTP_202_ACCEPTED if submitted.created else status.HTTP_200_OK
        return Response({"turn": show(TurnShape, submitted.turn)}, status=code)


class OneTurn(ChatView):
    """One turn."""

    @extend_schema(summary="Get a turn", responses=TurnShape)
    def get(self, request: Request, turn_id: uuid.UUID) -> Response:
        """Return its status."""
        return Response(show(TurnShape, self.turn(turn_id)))

    @extend_schema(summary="Change a queued turn", request=TurnChange, responses=TurnShape)
    def patch(self, request: Request, turn_id: uuid.UUID) -> Response:
        """Change a queued message before it runs; 409 once it has started."""
        turn, change = self.turn(turn_id), read(TurnChange, request.data)
        changed = turns.edit_queued(turn, text=change.get("message"), mode=change.get("while_running"))
        return Response(show(TurnShape, changed))

    @extend_schema(summary="Delete a queued turn", responses={204: None})
    def delete(self, request: Request, turn_id: uuid.UUID) -> Response:
        """Remove a queued message before it runs; 409 once it has started."""
        turns.remove_queued(self.turn(turn_id))
        return Response(status=status.HTTP_204_NO_CONTENT)


class TurnMessage(ChatView):
    """The answer of a turn."""

    @extend_schema(summary="Get the answer of a turn", responses=MessageShape)
    def get(self, request: Request, turn_id: uuid.UUID) -> Response:
        """Return the answer as a message, also one that was replaced by a later answer to the same message."""
        turn = self.turn(turn_id)
        found = Message.objects.select_related("turn").filter(pk=turn.answer_id, turn=turn).first()
        if found is None:
            raise Http404
        return Response(ui_messages([found], self.owner)[0])


class ShowTurn(ChatView):
    """Choose between versions of a message."""

    @extend_schema(summary="Show a version", request=None, responses=TurnShape)
    def post(self, request: Request, turn_id: uuid.UUID) -> Response:
        """Show this turn and what followed it in place of the other versions: the conversation goes on from there.

        409 while a turn of the session runs or is queued.
        """
        branches.show(self.turn(turn_id))
        return Response(show(TurnShape, self.turn(turn_id)))


class CancelTurn(ChatView):
    """Stop a turn."""

    @extend_schema(summary="Cancel a turn", request=None, responses=Cancelled)
    def post(self, request: Request, turn_id: uuid.UUID) -> Response:
        """Stop it in any state; the answer so far is kept. The response says what actually happened."""
        return Response(cancel_shape(turns.cancel(self.turn(turn_id))))


class CancelToolCall(ChatView):
    """Stop one tool call."""

    @extend_schema(summary="Cancel a tool call", request=None, responses=Cancelled)
    def post(self, request: Request, turn_id: uuid.UUID, call_id: str) -> Response:
        """Stop one tool call; its turn continues."""
        call = calls_of(self.turn(turn_id).pk).filter(call_id=call_id).last()
        if call is None:
            raise Http404
        cancelled = cancel_call(call.key)
        return Response(
            cancel_shape(CancelAnswer(cancelled=cancelled, reason="" if cancelled else "not_running"))
        )
