"""/api/connections/…/sign-in: sign in at an MCP server, in the browser."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.authentication import current_user
from connections import servers, tool_lists
from connections.errors import ServerNotReached, ToolServerError
from connections.models import ToolServer
from connections.oauth import registration, sign_ins
from durable.errors import Refusal
from executions.api.oauth import BrowserView, SignInUrl, WishForm
from executions.credentials.errors import SignInRefused

PAGE = "/library/connections"


class SignInBase(BrowserView):
    """Base of the views of a sign-in."""

    def server(self, request: Request, server_id: Any) -> ToolServer:
        found = servers.servers_of(current_user(request).pk).filter(pk=server_id).first()
        if found is None:
            raise Http404
        return found


class StartServerSignIn(SignInBase):
    """Start a sign-in at a server."""

    @extend_schema(summary="Start a sign-in at an MCP server", request=WishForm, responses=SignInUrl)
    def post(self, request: Request, pk: Any) -> Response:
        """Return the page to send the browser to."""
        form = WishForm(data=request.data)
        form.is_valid(raise_exception=True)
        try:
            url = sign_ins.start(
                self.server(request, pk),
                current_user(request),
                self.session_key(request),
                next=form.validated_data["next"],
            )
        except ToolServerError as error:
            raise ServerNotReached(str(error)) from None
        return Response({"url": url})

    @extend_schema(summary="Sign out at an MCP server", responses={204: None})
    def delete(self, request: Request, pk: Any) -> Response:
        """Forget your tokens at the server."""
        sign_ins.sign_out(self.server(request, pk), current_user(request).pk)
        return Response(status=status.HTTP_204_NO_CONTENT)


class ServerSignInCallback(SignInBase):
    """The redirect URI of sign-ins at MCP servers."""

    @extend_schema(
        summary="Finish a sign-in at an MCP server",
        parameters=[OpenApiParameter(name, OpenApiTypes.STR) for name in ("code", "state", "iss", "error")],
        responses={302: None},
    )
    def get(self, request: Request) -> HttpResponse:
        """Exchange the code for tokens, list the server's tools, and return to the page."""
        said, user = request.query_params, current_user(request)
        state = sign_ins.read_state(user, self.session_key(request), said.get("state", ""))
        server = self.server(request, sign_ins.server_id_in(state))
        back = state.get("next") or PAGE
        try:
            if not said.get("code"):
                raise SignInRefused(f"The sign-in was refused: {said.get('error', 'no reason given')[:200]}")
            callback = sign_ins.SignInAnswer(
                code=said["code"], state=said["state"], issuer=said.get("iss", "")
            )
            sign_ins.finish(server, user, callback, issuer=state["issuer"])
            tool_lists.refresh(server, user.pk)
        except Refusal as refusal:
            return HttpResponseRedirect(f"{back}?{urlencode({'problem': refusal.advice})}")
        except ToolServerError as error:
            return HttpResponseRedirect(f"{back}?{urlencode({'problem': str(error)[:500]})}")
        return HttpResponseRedirect(back)


def client_document(request: HttpRequest) -> HttpResponse:
    """Answer what this site is as an OAuth client, for authorization servers that read it."""
    return JsonResponse({"client_id": registration.document_url()} | registration.client_metadata())
