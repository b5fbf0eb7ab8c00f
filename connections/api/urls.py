"""URLs of the API of MCP servers, under /api/."""

from django.urls import path

from connections.api import servers, sign_in

urlpatterns = [
    path("connections", servers.ToolServers.as_view(), name="connections"),
    path("connections/client.json", sign_in.client_document, name="connection-client-document"),
    path(
        "connections/sign-in/callback",
        sign_in.ServerSignInCallback.as_view(),
        name="connection-oauth-callback",
    ),
    path("connections/<uuid:pk>", servers.OneServer.as_view(), name="connection"),
    path("connections/<uuid:pk>/refresh", servers.RefreshTools.as_view(), name="connection-refresh"),
    path("connections/<uuid:pk>/sign-in", sign_in.StartServerSignIn.as_view(), name="connection-sign-in"),
    path("connections/<uuid:pk>/tools/<uuid:tool_id>", servers.OneTool.as_view(), name="connection-tool"),
    path(
        "connections/<uuid:pk>/tools/<uuid:tool_id>/approve",
        servers.ApproveTool.as_view(),
        name="connection-tool-approve",
    ),
]
