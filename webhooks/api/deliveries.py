"""/api/webhooks/{id}/deliveries: list deliveries, send a test, replay a delivery."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import generics, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

from accounts.api.authentication import current_user
from accounts.api.throttling import WriteRate
from durable import rate_limit
from webhooks import deliveries, limits
from webhooks.api.serializers import WebhookDeliverySerializer
from webhooks.models import WebhookDelivery, WebhookEndpoint


class SendRate(BaseThrottle):
    """Limits tests and replays per minute, so that they cannot be used to flood a server."""

    def allow_request(self, request: Request, view: APIView) -> bool:
        name = f"webhook:{current_user(request).pk}"
        self.seconds = rate_limit.seconds_to_wait(name, most=limits.WEBHOOK_TESTS_PER_MINUTE)
        return self.seconds == 0

    def wait(self) -> float:
        return self.seconds


class OwnWebhookDeliveries(generics.GenericAPIView[WebhookDelivery]):
    """Deliveries to one endpoint of the person asking."""

    queryset = WebhookDelivery.objects.none()
    serializer_class = WebhookDeliverySerializer

    def endpoint(self) -> WebhookEndpoint:
        own = WebhookEndpoint.objects.filter(user=current_user(self.request))
        return get_object_or_404(own, pk=self.kwargs["endpoint_id"])

    def get_queryset(self) -> QuerySet[WebhookDelivery]:
        return self.endpoint().deliveries.order_by("-queued_at")


@extend_schema_view(
    get=extend_schema(summary="List webhook deliveries", description="The delivery log, newest first.")
)
class WebhookDeliveries(OwnWebhookDeliveries, generics.ListAPIView[WebhookDelivery]):
    """The delivery log, newest first."""


class SendTest(OwnWebhookDeliveries):
    """Trying an endpoint out."""

    throttle_classes = [WriteRate, SendRate]

    @extend_schema(summary="Send a test webhook", request=None, responses={202: WebhookDeliverySerializer})
    def post(self, request: Request, **kwargs: Any) -> Response:
        """Send a test event, once; the delivery log shows the result."""
        sent = deliveries.send_test(self.endpoint())
        return Response(self.get_serializer(sent).data, status=status.HTTP_202_ACCEPTED)


class ReplayWebhookDelivery(OwnWebhookDeliveries):
    """Sending one again."""

    throttle_classes = [WriteRate, SendRate]

    @extend_schema(
        summary="Replay a webhook delivery", request=None, responses={202: WebhookDeliverySerializer}
    )
    def post(self, request: Request, **kwargs: Any) -> Response:
        """Send an ended delivery again, with the same `webhook-id`."""
        sent = deliveries.replay(self.get_object())
        return Response(self.get_serializer(sent).data, status=status.HTTP_202_ACCEPTED)
