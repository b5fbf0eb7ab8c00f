"""The addresses of OAuth."""

from django.urls import path

from accounts.oauth import views

urlpatterns = [
    path(".well-known/oauth-protected-resource", views.protected_resource),
    path(".well-known/oauth-protected-resource/mcp", views.protected_resource),
    path(".well-known/oauth-authorization-server", views.authorization_server),
    path("oauth/authorize", views.authorize, name="oauth-authorize"),
    path("oauth/token", views.token, name="oauth-token"),
    path("oauth/register", views.register, name="oauth-register"),
    path("oauth/revoke", views.revoke, name="oauth-revoke"),
]
