"""/api/connections: the MCP servers that a person uses, and the tools of these servers."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import generics, status
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.authentication import current_user
from accounts.api.throttling import WriteRate
from connections import servers, tool_lists
from connections.api.serializers import (
    ApproveForm,
    ServerChangeForm,
    ServerForm,
    ServerToolSerializer,
    ToolChangeForm,
    ToolServerSerializer,
)
from connections.errors import ServerNotReached, ToolServerError
from connections.models import ServerTool, ToolServer


class UsedServers(generics.GenericAPIView[ToolServer]):
    """Base of views on the servers that a person uses."""

    queryset = ToolServer.objects.none()
    serializer_class = ToolServerSerializer
    throttle_classes = [WriteRate]

    def get_queryset(self) -> QuerySet[ToolServer]:
        used = servers.servers_of(current_user(self.request).pk)
        return used.select_related("group").prefetch_related("tools", "sign_ins").order_by("created_at")

    def get_serializer_context(self) -> dict[str, Any]:
        user = current_user(self.request)
        more = {"user": user, "may_change": lambda server: servers.may_change(server, user)}
        return {**super().get_serializer_context(), **more}

    def changeable(self) -> ToolServer:
        """Return the server of the address; 404 if it is not used by the person, 403 if they may not change it."""
        server = self.get_object()
        if not servers.may_change(server, current_user(self.request)):
            raise PermissionDenied("Only an operator can change a server of the site or of a group.")
        return server

    def shown(self, server: ToolServer, code: int = status.HTTP_200_OK) -> Response:
        fresh = self.get_queryset().get(pk=server.pk)
        return Response(self.get_serializer(fresh).data, status=code)


@extend_schema_view(
    get=extend_schema(
        summary="List MCP servers", description="The MCP servers that you use, with their tools."
    )
)
class ToolServers(UsedServers, generics.ListAPIView[ToolServer]):
    """List servers; add one."""

    @extend_schema(summary="Add an MCP server", request=ServerForm, responses={201: ToolServerSerializer})
    def post(self, request: Request) -> Response:
        """Add a server and list its tools. One that does not answer now is added all the same."""
        form = ServerForm(data=request.data)
        form.is_valid(raise_exception=True)
        given = dict(form.validated_data)
        user, scope, group = current_user(request), given.pop("scope"), given.pop("group")
        if scope != "person" and not (user.is_staff and user.has_perm("connections.add_toolserver")):
            raise PermissionDenied("Only an operator can add a server for a group or the site.")
        owner = user if scope == "person" else None
        server = servers.add_server(
            servers.NewServer(**given, user=owner, group=group if scope == "group" else None)
        )
        try:
            tool_lists.refresh(server, user.pk)
        except ToolServerError as error:
            ToolServer.objects.filter(pk=server.pk).update(last_error=str(error)[:1000])
        return self.shown(server, status.HTTP_201_CREATED)


@extend_schema_view(
    get=extend_schema(summary="Get an MCP server", description="One MCP server with its tools.")
)
class OneServer(UsedServers, generics.RetrieveAPIView[ToolServer]):
    """One server."""

    @extend_schema(summary="Change an MCP server", request=ServerChangeForm, responses=ToolServerSerializer)
    def patch(self, request: Request, **kwargs: Any) -> Response:
        """Change title, address or key, or switch it off. A new address needs the key again."""
        server = self.changeable()
        form = ServerChangeForm(data=request.data)
        form.is_valid(raise_exception=True)
        return self.shown(servers.change_server(server, servers.ServerChanges(**form.validated_data)))

    @extend_schema(summary="Remove an MCP server", responses={204: None})
    def delete(self, request: Request, **kwargs: Any) -> Response:
        """Remove the server with its tools and sign-ins."""
        self.changeable().delete()
        return Response(status=status.HTTP_204_NO_CONTENT)


class RefreshTools(UsedServers):
    """Look at a server's tools again."""

    @extend_schema(
        summary="List the tools of an MCP server again", request=None, responses=ToolServerSerializer
    )
    def post(self, request: Request, **kwargs: Any) -> Response:
        """List the tools now. New and changed ones wait until somebody has seen and approved them."""
        server = self.get_object()
        ToolServer.objects.filter(pk=server.pk).update(retry_at=None)
        server.retry_at = None
        try:
            tool_lists.refresh(server, current_user(request).pk)
        except ToolServerError as error:
            raise ServerNotReached(str(error)) from None
        return self.shown(server)


class OneTool(UsedServers):
    """One tool of a server."""

    def tool(self) -> ServerTool:
        server = self.changeable()
        found = server.tools.filter(pk=self.kwargs["tool_id"]).first()
        if found is None:
            raise Http404
        return found

    @extend_schema(
        summary="Change a tool of an MCP server", request=ToolChangeForm, responses=ServerToolSerializer
    )
    def patch(self, request: Request, **kwargs: Any) -> Response:
        """Show it always to the model or not, and trust it less than its server says."""
        tool = self.tool()
        form = ToolChangeForm(data=request.data)
        form.is_valid(raise_exception=True)
        given = form.validated_data
        if "lowered_effect" in given:
            servers.lower_effect(tool, given["lowered_effect"])
        if "pinned" in given:
            tool.pinned = given["pinned"]
            tool.save(update_fields=["pinned"])
        return Response(ServerToolSerializer(tool).data)


class ApproveTool(OneTool):
    """Approve a new or changed tool."""

    http_method_names = ["post", "options"]

    @extend_schema(summary="Approve a change of a tool", request=ApproveForm, responses=ServerToolSerializer)
    def post(self, request: Request, **kwargs: Any) -> Response:
        """Approve the change that you have seen. 409 if the tool has changed again since."""
        tool = self.tool()
        form = ApproveForm(data=request.data)
        form.is_valid(raise_exception=True)
        approved = tool_lists.approve(tool, digest=form.validated_data["digest"], by=current_user(request))
        return Response(ServerToolSerializer(approved).data)
