"""/api/sessions: list, create, read, rename, delete and claim conversations; cancel what runs in one."""

from __future__ import annotations

from typing import Any

from django.db.models import Case, CharField, Exists, OuterRef, Prefetch, Q, QuerySet, Subquery, Value, When
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.exceptions import ValidationError
from rest_framework.generics import GenericAPIView
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.authentication import current_user
from accounts.visitors import visitor_id
from chat import limits, sessions, turns
from chat.api.messages import page_of
from chat.api.serializers import (
    Cancelled,
    NewSession,
    QueuedTurnShape,
    SessionChange,
    SessionDetail,
    SessionShape,
    TurnShape,
    read,
    show,
)
from chat.api.view import ChatView, future_owner
from chat.model_choice import check_pick
from chat.models import Message, Session, Turn
from chat.notifications import ASKING_RESULTS
from chat.sessions import Owner
from durable.cancellation import CancelAnswer
from executions import limits as executions_limits
from executions.models import Review
from tools.models import Operation, ToolCall

SEARCH = OpenApiParameter("search", str, description="Words in the title or the messages.")
PINNED = OpenApiParameter("pinned", bool, description="Only pinned (true) or only other (false) sessions.")
BEFORE = OpenApiParameter(
    "before", str, description="Id of a message: return the page of messages before it."
)
LIMIT = OpenApiParameter("limit", int, description=f"Messages per page, at most {limits.MAX_PAGE_SIZE}.")


class Sessions(ChatView, GenericAPIView[Session]):
    """Base of views on the user's own conversations."""

    queryset = Session.objects.none()
    serializer_class = SessionShape

    @extend_schema(summary="List sessions", parameters=[SEARCH, PINNED], responses=SessionShape(many=True))
    def get(self, request: Request) -> Response:
        """List own sessions, newest first."""
        listed = self.owner.sessions().filter(expires_at=None)
        rows = with_status(filtered(listed, request)).order_by("-active_at", "-id")
        page = self.paginate_queryset(rows)
        return self.get_paginated_response(SessionShape(page, many=True).data)

    @extend_schema(summary="Create a session", request=NewSession, responses={201: SessionShape})
    def post(self, request: Request) -> Response:
        """Create a conversation."""
        owner = future_owner(request)
        made = sessions.create(owner, **with_model(owner, read(NewSession, request.data)))
        return Response(shape(made), status=status.HTTP_201_CREATED)


class OneSession(ChatView):
    """One conversation."""

    @extend_schema(
        summary="Get a session with its messages", parameters=[BEFORE, LIMIT], responses=SessionDetail
    )
    def get(self, request: Request, key: str) -> Response:
        """Return the session with its newest page of messages, its active turn and its queued turns."""
        session = self.session(key)
        page = page_of(session, before=request.query_params.get("before", ""), size=page_size(request))
        live = live_turns(session)
        active = next((turn for turn in live if turn.status in Turn.ACTIVE), None)
        queued = [turn for turn in live if turn.status == Turn.QUEUED]
        return Response(
            shape(session)
            | {
                "messages": page.messages,
                "before": page.before,
                "active_turn": show(TurnShape, active) if active else None,
                "queued_turns": QueuedTurnShape(queued, many=True).data,
            }
        )

    @extend_schema(summary="Change a session", request=SessionChange, responses=SessionShape)
    def patch(self, request: Request, key: str) -> Response:
        """Rename or pin it, or pick the model that answers in it from now on."""
        session = self.session(key)
        changes = with_model(self.owner, read(SessionChange, request.data))
        return Response(shape(sessions.change(session, **changes)))

    @extend_schema(summary="Delete a session", responses={204: None})
    def delete(self, request: Request, key: str) -> Response:
        """Delete it with everything in it; what runs is stopped."""
        sessions.delete(self.session(key))
        return Response(status=status.HTTP_204_NO_CONTENT)


class ReadSession(ChatView):
    """Mark a session as read."""

    @extend_schema(summary="Mark a session as read", request=None, responses={204: None})
    def post(self, request: Request, key: str) -> Response:
        """Note that you have seen its end, on all your devices."""
        sessions.mark_read(self.session(key))
        return Response(status=status.HTTP_204_NO_CONTENT)


class AssignUser(ChatView):
    """Claim a session."""

    permission_classes = [IsAuthenticated]

    @extend_schema(summary="Take over a visitor's session", request=None, responses=SessionShape)
    def patch(self, request: Request, key: str) -> Response:
        """Take over a session that this browser started without an account."""
        return Response(shape(sessions.claim(current_user(request), visitor_id(request), key)))


class CancelSession(ChatView):
    """Stop what runs in a session."""

    @extend_schema(summary="Cancel the turns of a session", request=None, responses=Cancelled)
    def post(self, request: Request, key: str) -> Response:
        """Cancel the running turn; if none runs, all queued ones."""
        return Response(cancel_shape(turns.cancel_session(self.session(key))))


def with_model(owner: Owner, values: dict[str, Any]) -> dict[str, Any]:
    """Return the values with the full name of the model, if one was sent and this person may use it."""
    return values | {"model": check_pick(owner.user, values["model"])} if "model" in values else values


def cancel_shape(answer: CancelAnswer) -> dict[str, Any]:
    shown: dict[str, Any] = {"cancelled": answer.cancelled}
    return shown | {"reason": answer.reason} if answer.reason else shown


def shape(session: Session) -> dict[str, Any]:
    """Return the session as the API shows it, read again because it may just have changed."""
    return show(SessionShape, with_status(Session.objects.filter(pk=session.pk)).get())


def with_status(rows: QuerySet[Session]) -> QuerySet[Session]:
    """Add `status`, `needs_you` and `unread`, computed by the database."""
    own = Turn.live().filter(session=OuterRef("pk"))
    status = Case(
        When(Exists(own.filter(status__in=Turn.ACTIVE)), then=Value("running")),
        When(Exists(own.filter(status=Turn.QUEUED)), then=Value("queued")),
        default=Value("idle"),
        output_field=CharField(),
    )
    unread = Case(When(sessions.is_unread(), then=Value(True)), default=Value(False))
    return rows.annotate(status=status, needs_you=needs_you(), unread=unread)


def needs_you() -> Q:
    """Return the condition for sessions that wait for an answer of their person.

    Any later message counts as an answer to a question; a review must be decided.
    """
    of_session = Turn.objects.filter(session=OuterRef(OuterRef("pk")), superseded_at=None)
    messages = of_session.filter(kind=Turn.Kind.MESSAGE)
    since = Q(turn_id=newest(messages)) | Q(turn_id=newest(of_session))
    asked = ToolCall.objects.filter(since, result__type__in=ASKING_RESULTS)
    operation_asked = Operation.objects.filter(
        session_id=OuterRef("pk"),
        status=Operation.COMPLETED,
        turn_id=newest(messages),
        result__type__in=ASKING_RESULTS,
    )
    waiting = Review.objects.filter(user=OuterRef("user"), state=Review.State.WAITING)
    reviews = waiting.filter(Q(session_id=OuterRef("pk")) | Q(execution__session_id=OuterRef("pk")))
    return Q(Exists(asked)) | Q(Exists(operation_asked)) | Q(Exists(reviews))


def newest(turns: QuerySet[Turn]) -> Subquery:
    return Subquery(turns.order_by("-queued_at").values("pk")[:1])


def filtered(rows: QuerySet[Session], request: Request) -> QuerySet[Session]:
    words = request.query_params.get("search", "")[: executions_limits.MAX_SEARCH_CHARACTERS].strip()
    if words:
        texts = Message.objects.filter(
            session=OuterRef("pk"), turn__superseded_at=None, text__icontains=words
        )
        rows = rows.filter(Q(title__icontains=words) | Exists(texts))
    pinned = request.query_params.get("pinned", "").lower()
    if pinned not in ("", "true", "false"):
        raise ValidationError({"pinned": ["Must be true or false."]})
    return rows.filter(pinned=pinned == "true") if pinned else rows


def live_turns(session: Session) -> list[Turn]:
    inputs = Prefetch("messages", Message.objects.filter(role=Message.Role.USER), to_attr="inputs")
    rows = session.turns.filter(status__in=Turn.LIVE).order_by("-priority", "queued_at", "id")
    return list(rows.prefetch_related(inputs))


def page_size(request: Request) -> int:
    text = request.query_params.get("limit", "")
    try:
        return max(1, min(int(text[:20]), limits.MAX_PAGE_SIZE)) if text else limits.PAGE_SIZE
    except ValueError:
        raise ValidationError({"limit": ["Must be a whole number."]}) from None
