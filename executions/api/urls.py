"""The addresses of agents and what runs them, under /api/."""

from __future__ import annotations

from django.urls import path

from executions.api import credentials, oauth, reviews

urlpatterns = [
    path("reviews", reviews.Reviews.as_view(), name="reviews"),
    path("reviews/<uuid:pk>", reviews.OneReview.as_view(), name="review"),
    path("reviews/<uuid:pk>/decide", reviews.Decide.as_view(), name="review-decide"),
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
