"""URLs of the webhooks API, under /api/."""

from django.urls import path

from webhooks.api import deliveries, endpoints

urlpatterns = [
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
