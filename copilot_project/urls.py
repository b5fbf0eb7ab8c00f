"""Every address of the site."""

from django.conf import settings
from django.contrib import admin
from django.urls import include, path
from drf_spectacular.views import SpectacularRedocView, SpectacularSwaggerSplitView

from copilot_project.ops import health
from copilot_project.ops.metrics.page import metrics
from copilot_project.web import pages
from copilot_project.web.openapi_page import SchemaPage

urlpatterns = [
    path(f"{settings.ENV.admin_path}/", admin.site.urls),
    path("", pages.chat, name="chat"),
    path("sw.js", pages.service_worker, name="service-worker"),
    path("c/<str:session>", pages.chat, name="conversation"),
    path("library", pages.chat, name="library"),
    path("library/<path:place>", pages.chat, name="library-place"),
    path("account", pages.chat, name="account"),
    path("account/<path:place>", pages.chat, name="account-place"),
    path("store/<path:place>", pages.chat, name="store-place"),
    path("styleguide", pages.chat, name="styleguide"),
    path("healthz", health.healthz, name="healthz"),
    path("metrics", metrics, name="metrics"),
    path("readyz", health.readyz, name="readyz"),
    path("", include("accounts.urls")),
    path("", include("accounts.oauth.urls")),
    path("api/", include("accounts.api.urls")),
    path("api/", include("chat.urls")),
    path("api/", include("connections.api.urls")),
    path("api/", include("executions.api.urls")),
    path("api/", include("tools.api.urls")),
    path("api/", include("webhooks.urls")),
    path("api/", include("workspace.urls")),
    path("v1/", include("doors.openai.urls")),
    path("", include("doors.mcp.urls")),
    path("api/schema/", SchemaPage.as_view(), name="schema"),
    path("api/docs/", SpectacularSwaggerSplitView.as_view(), name="api-docs"),
    path("api/redoc/", SpectacularRedocView.as_view(), name="api-redoc"),
]

handler400 = "copilot_project.web.pages.bad_request"
handler403 = "copilot_project.web.pages.permission_denied"
handler404 = "copilot_project.web.pages.not_found"
handler500 = "copilot_project.web.pages.server_error"
