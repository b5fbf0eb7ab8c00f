"""/api/webhooks/{id}/deliveries: what was sent to one's own endpoint, trying it out, sending one again."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import generics, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

from accounts.authentication import current_user
from accounts.throttling import WriteRate
from durable import limits, rates
from webhooks import deliveries
from webhooks.api.serializers import WebhookDeliverySerializer
from webhooks.models import WebhookDelivery, WebhookEndpoint


class SendRate(BaseThrottle):
    """What a person sends by hand: so many a minute, or we would be of use for flooding somebody."""

    def allow_request(self, request: Request, view: APIView) -> bool:
        name = f"webhook:{current_user(request).pk}"
        self.seconds = rates.seconds_to_wait(name, most=limits.WEBHOOK_TESTS_PER_MINUTE)
        return self.seconds == 0

    def wait(self) -> float:
        return self.seconds


class OwnDeliveries(generics.GenericAPIView[WebhookDelivery]):
    """Deliveries to one endpoint of the person asking."""

    queryset = WebhookDelivery.objects.none()
    serializer_class = WebhookDeliverySerializer

    def endpoint(self) -> WebhookEndpoint:
        own = WebhookEndpoint.objects.filter(user=current_user(self.request))
        return get_object_or_404(own, pk=self.kwargs["endpoint_id"])

    def get_queryset(self) -> QuerySet[WebhookDelivery]:
        return self.endpoint().deliveries.order_by("-queued_at")


class Deliveries(OwnDeliveries, generics.ListAPIView[WebhookDelivery]):
    """The delivery log, newest first."""


class SendTest(OwnDeliveries):
    """Trying an endpoint out."""

    throttle_classes = [WriteRate, SendRate]

    @extend_schema(request=None, responses={202: WebhookDeliverySerializer})
    def post(self, request: Request, **kwargs: Any) -> Response:
        """Send a test event, once; the delivery log shows what came of it."""
        sent = deliveries.send_test(self.endpoint())
        return Response(self.get_serializer(sent).data, status=status.HTTP_202_ACCEPTED)


class Replay(OwnDeliveries):
    """Sending one again."""

    throttle_classes = [WriteRate, SendRate]

    @extend_schema(request=None, responses={202: WebhookDeliverySerializer})
    def post(self, request: Request, **kwargs: Any) -> Response:
        """Send an ended delivery again, with the same `webhook-id`."""
        sent = deliveries.replay(self.get_object())
        return Response(self.get_serializer(sent).data, status=status.HTTP_202_ACCEPTED)
