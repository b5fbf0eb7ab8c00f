"""/api/ws-ticket: a one-time ticket for a websocket where no cookie can be sent."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api.authentication import current_login, current_user
from accounts.tokens import issue_ticket

ANSWER = inline_serializer("WebsocketTicket", {"ticket": serializers.CharField()})


class WebsocketTicket(APIView):
    """Tickets for `/ws/...?ticket=`."""

    @extend_schema(summary="Create a websocket ticket", request=None, responses=ANSWER)
    def post(self, request: Request) -> Response:
        """Create a ticket that opens one websocket, once, within 30 seconds."""
        ticket = issue_ticket(current_user(request), current_login(request))
        return Response({"ticket": ticket}, headers={"Cache-Control": "no-store"})
