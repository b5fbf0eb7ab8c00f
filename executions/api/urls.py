"""URLs of agents, executions, schedules, triggers, credentials, reviews, blocks and the store, under /api/."""

from __future__ import annotations

from django.urls import path

from executions.api import (
    agent_versions,
    agents,
    blocks,
    credentials,
    executions,
    hooks,
    oauth,
    reviews,
    schedules,
    store,
    triggers,
)

urlpatterns = [
    path("agents", agents.Agents.as_view(), name="agents"),
    path("agents/<uuid:pk>", agents.OneAgent.as_view(), name="agent"),
    path("agents/<uuid:pk>/execute", executions.ExecuteAgent.as_view(), name="agent-execute"),
    path("agents/<uuid:pk>/export", agents.ExportAgent.as_view(), name="agent-export"),
    path("agents/<uuid:pk>/validate", agents.ValidateAgent.as_view(), name="agent-validate"),
    path("agents/<uuid:pk>/fix", agents.FixAgent.as_view(), name="agent-fix"),
    path("agents/<uuid:pk>/versions", agent_versions.Versions.as_view(), name="agent-versions"),
    path("agents/<uuid:pk>/versions/<int:number>", agent_versions.OneVersion.as_view(), name="agent-version"),
    path("agents/<uuid:pk>/diff", agent_versions.Diff.as_view(), name="agent-diff"),
    path("agents/<uuid:pk>/rollback", agent_versions.Rollback.as_view(), name="agent-rollback"),
    path("store", store.Store.as_view(), name="store"),
    path("store/<str:username>/<slug:slug>", store.Listing.as_view(), name="store-listing"),
    path("store/<str:username>/<slug:slug>/add", store.Add.as_view(), name="store-add"),
    path("executions", executions.Executions.as_view(), name="executions"),
    path("executions/<uuid:pk>", executions.OneExecution.as_view(), name="execution"),
    path("executions/<uuid:pk>/nodes", executions.Nodes.as_view(), name="execution-nodes"),
    path("executions/<uuid:pk>/cancel", executions.CancelExecution.as_view(), name="execution-cancel"),
    path("blocks", blocks.Blocks.as_view(), name="blocks"),
    path("blocks/elsewhere", blocks.BlocksElsewhere.as_view(), name="blocks-elsewhere"),
    path("blocks/<uuid:pk>/execute", blocks.ExecuteBlock.as_view(), name="block-execute"),
    path("reviews", reviews.Reviews.as_view(), name="reviews"),
    path("reviews/<uuid:pk>", reviews.OneReview.as_view(), name="review"),
    path("reviews/<uuid:pk>/decide", reviews.Decide.as_view(), name="review-decide"),
    path("schedules", schedules.Schedules.as_view(), name="schedules"),
    path("schedules/<uuid:pk>", schedules.OneSchedule.as_view(), name="schedule"),
    path("schedules/<uuid:pk>/run", schedules.RunNow.as_view(), name="schedule-run"),
    path("hooks/<str:token>", hooks.Hook.as_view(), name="hook"),
    path("triggers", triggers.Triggers.as_view(), name="triggers"),
    path("triggers/<uuid:pk>", triggers.OneTrigger.as_view(), name="trigger"),
    path("triggers/<uuid:pk>/rotate", triggers.Rotate.as_view(), name="trigger-rotate"),
    path("triggers/<uuid:trigger_id>/deliveries", triggers.TriggerDeliveries.as_view(), name="deliveries"),
    path(
        "triggers/<uuid:trigger_id>/deliveries/<uuid:pk>/replay",
        triggers.ReplayTriggerDelivery.as_view(),
        name="delivery-replay",
    ),
    path("credentials", credentials.Credentials.as_view(), name="credentials"),
    path("credentials/providers", oauth.Providers.as_view(), name="credential-providers"),
    path("credentials/<uuid:pk>", credentials.OneCredential.as_view(), name="credential"),
    path(
        "credentials/oauth/<slug:provider>/start", oauth.StartSignIn.as_view(), name="credential-oauth-start"
    ),
    path(
        "credentials/oauth/<slug:provider>/callback",
        oauth.Callback.as_view(),
        name="credential-oauth-callback",
    ),
]
