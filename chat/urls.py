"""Routes of the chat API, under /api/."""

from django.urls import path

from chat.ai_sdk import views
from chat.api import (
    attention,
    config,
    export,
    follow_ups,
    forks,
    memory,
    models,
    operations,
    search,
    sessions,
    turns,
)

urlpatterns = [
    path("attention", attention.Attention.as_view(), name="attention"),
    path("config", config.Config.as_view(), name="config"),
    path("memory", memory.RememberedFacts.as_view(), name="memory"),
    path("models", models.Models.as_view(), name="models"),
    path("search", search.Search.as_view(), name="search"),
    path("sessions", sessions.Sessions.as_view(), name="sessions"),
    path("sessions/<str:key>", sessions.OneSession.as_view(), name="session"),
    path("sessions/<str:key>/assign-user", sessions.AssignUser.as_view(), name="session-assign-user"),
    path("sessions/<str:key>/cancel", sessions.CancelSession.as_view(), name="session-cancel"),
    path("sessions/<str:key>/export", export.ExportSession.as_view(), name="session-export"),
    path("sessions/<str:key>/read", sessions.ReadSession.as_view(), name="session-read"),
    path("sessions/<str:key>/fork", forks.ForkSession.as_view(), name="session-fork"),
    path("sessions/<str:key>/turns", turns.SessionTurns.as_view(), name="session-turns"),
    path("sessions/<str:key>/stream", views.SessionStream.as_view(), name="session-stream"),
    path("turns/<uuid:turn_id>", turns.OneTurn.as_view(), name="turn"),
    path("turns/<uuid:turn_id>/message", turns.TurnMessage.as_view(), name="turn-message"),
    path("turns/<uuid:turn_id>/show", turns.ShowTurn.as_view(), name="turn-show"),
    path("turns/<uuid:turn_id>/cancel", turns.CancelTurn.as_view(), name="turn-cancel"),
    path("turns/<uuid:turn_id>/stream", views.TurnStream.as_view(), name="turn-stream"),
    path(
        "turns/<uuid:turn_id>/tools/<str:call_id>/cancel",
        turns.CancelToolCall.as_view(),
        name="turn-tool-cancel",
    ),
    path("follow-ups", follow_ups.FollowUps.as_view(), name="follow-ups"),
    path("follow-ups/<uuid:pk>", follow_ups.OneFollowUp.as_view(), name="follow-up"),
    path("operations/<uuid:operation_id>", operations.OneOperation.as_view(), name="operation"),
    path(
        "operations/<uuid:operation_id>/cancel", operations.CancelOperation.as_view(), name="operation-cancel"
    ),
    path(
        "operations/<uuid:operation_id>/complete",
        operations.CompleteOperation.as_view(),
        name="operation-complete",
    ),
    path("chat", views.Chat.as_view(), name="chat"),
    path("chat/<str:key>/stream", views.ChatResume.as_view(), name="chat-resume"),
]
