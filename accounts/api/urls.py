"""The addresses of the account API, under /api/."""

from django.urls import path

from accounts.api import (
    grants,
    keys,
    me,
    schema,  # noqa: F401 - registers itself with the page generator, which always loads this module
    usage,
    ws_ticket,
)

urlpatterns = [
    path("me", me.Me.as_view(), name="me"),
    path("keys", keys.Keys.as_view(), name="keys"),
    path("keys/<uuid:pk>", keys.Key.as_view(), name="key"),
    path("grants", grants.Grants.as_view(), name="grants"),
    path("grants/<uuid:pk>", grants.Grant.as_view(), name="grant"),
    path("usage", usage.UsageByDay.as_view(), name="usage"),
    path("ws-ticket", ws_ticket.WebsocketTicket.as_view(), name="ws-ticket"),
]
