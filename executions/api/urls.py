"""The addresses of agents and what runs them, under /api/."""

from __future__ import annotations

from django.urls import path

from executions.api import credentials, oauth

urlpatterns = [
    path("credentials", credentials.Credentials.as_view(), name="credentials"),
    path("credentials/providers", oauth.Providers.as_view(), name="credential-providers"),
    path("credentials/<uuid:pk>", credentials.Credential.as_view(), name="credential"),
    path("credentials/oauth/<slug:provider>/start", oauth.Start.as_view(), name="credential-oauth-start"),
    path(
        "credentials/oauth/<slug:provider>/callback",
        oauth.Callback.as_view(),
        name="credential-oauth-callback",
    ),
]
