"""URLs of the webhooks API, under /api/."""

from django.urls import path

from webhooks.api import deliveries, endpoints, push

urlpatterns = [
    path("push", push.Push.as_view(), name="push"),
    path("push/subscriptions", push.PushSubscriptions.as_view(), name="push-subscriptions"),
    path("push/subscriptions/<uuid:pk>", push.OnePushSubscription.as_view(), name="push-subscription"),
    path("push/test", push.TestPush.as_view(), name="push-test"),
    path("notifications/settings", push.NotificationChoices.as_view(), name="notification-settings"),
    path("notifications/claim", push.ClaimNotice.as_view(), name="notification-claim"),
    path("webhooks", endpoints.Endpoints.as_view(), name="webhooks"),
    path("webhooks/<uuid:pk>", endpoints.OneEndpoint.as_view(), name="webhook"),
    path("webhooks/<uuid:pk>/rotate", endpoints.RotateSecret.as_view(), name="webhook-rotate"),
    path("webhooks/<uuid:endpoint_id>/test", deliveries.SendTest.as_view(), name="webhook-test"),
    path(
        "webhooks/<uuid:endpoint_id>/deliveries",
        deliveries.WebhookDeliveries.as_view(),
        name="webhook-deliveries",
    ),
    path(
        "webhooks/<uuid:endpoint_id>/deliveries/<uuid:pk>/replay",
        deliveries.ReplayWebhookDelivery.as_view(),
        name="webhook-replay",
    ),
]
